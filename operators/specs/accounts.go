package specs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// Functions that read objects run as service accounts. In the namespaces that the chart names it has made accounts, Roles and bindings. An
// operator of all namespaces makes accounts of each core elsewhere itself, and gives them ClusterRoles of the chart in the core's
// namespace: the rights stand in the chart alone, and the operator may bind these roles without having what they allow.

// Accounts is who makes service accounts of functions, and where.
type Accounts struct {
	// Roles is what the names of the ClusterRoles begin with, behind which they are called as the chart's accounts. Empty: the chart has made
	// accounts wherever there are cores.
	Roles string
	// Namespaces are those where it has nevertheless.
	Namespaces []string
}

// Made says whether the operator makes the accounts of cores in a namespace.
func (a Accounts) Made(namespace string) bool {
	return a.Roles != "" && !slices.Contains(a.Namespaces, namespace)
}

// account is what a function of the core runs as: the account of the chart, or one of the core's own.
func (p Platform) account(core *api.Core5G, ofTheChart, suffix string) string {
	if p.Accounts.Made(core.Namespace) {
		return core.Name + "-" + suffix + "-account"
	}
	return ofTheChart
}

func (p Platform) subscriberDataAccount(core *api.Core5G) string {
	return p.account(core, p.SubscriberDataServiceAccount, "subscriber-data")
}

func (p Platform) sessionManagementAccount(core *api.Core5G) string {
	return p.account(core, p.SessionManagementServiceAccount, "session-management")
}

func (p Platform) accessManagementAccount(core *api.Core5G) string {
	return p.account(core, p.AccessManagementServiceAccount, "access-management")
}

func (p Platform) controlPlaneAccount(core *api.Core5G) string {
	return p.account(core, p.ControlPlaneServiceAccount, "control-plane")
}

// CoreAccounts are the accounts that the operator makes for a core, with a binding for each role; none where the chart has made them. They are all that any layout
// needs: pods of the other one go on while it is changed.
func CoreAccounts(core *api.Core5G, p Platform) (accounts []*corev1.ServiceAccount, bindings []*rbacv1.RoleBinding) {
	if !p.Accounts.Made(core.Namespace) {
		return nil, nil
	}
	data, sessions, access := p.SubscriberDataServiceAccount, p.SessionManagementServiceAccount, p.AccessManagementServiceAccount
	for _, a := range []struct {
		name, component string
		roles           []string
	}{
		{p.subscriberDataAccount(core), "subscriber-data", []string{data}},
		{p.sessionManagementAccount(core), "session-management", []string{sessions}},
		{p.accessManagementAccount(core), "access-management", []string{access}},
		{p.controlPlaneAccount(core), "control-plane", []string{data, sessions, access}},
	} {
		about := metav1.ObjectMeta{
			Name: a.name, Namespace: core.Namespace, Labels: Labels(core.Name, a.component),
			OwnerReferences: []metav1.OwnerReference{ownedBy(core, "Core5G")},
		}
		accounts = append(accounts, &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: about})
		for _, role := range a.roles {
			binding := &rbacv1.RoleBinding{
				TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: *about.DeepCopy(),
				RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: p.Accounts.Roles + role},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: a.name, Namespace: core.Namespace}},
			}
			// What a binding refers to cannot be changed, and is another release's after the operator was installed anew.
			binding.Name = a.name + "-" + binding.RoleRef.Name
			bindings = append(bindings, binding)
		}
	}
	return accounts, bindings
}
