package specs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	api "core5g.dev/core5g/operators/api/v1alpha1"
)

// TestCoreAccounts looks at who makes what functions run as: pods name an account that is there, and each account may do in its namespace what the
// chart's may in theirs.
func TestCoreAccounts(t *testing.T) {
	everywhere := Platform{
		SubscriberDataServiceAccount: "x-subscriber-data", SessionManagementServiceAccount: "x-session-management",
		AccessManagementServiceAccount: "x-access-management", ControlPlaneServiceAccount: "x-control-plane",
		Accounts: Accounts{Roles: "system-", Namespaces: []string{"system", "paris"}},
	}
	named := everywhere
	named.Accounts = Accounts{Namespaces: []string{"system", "paris"}}
	for sentence, test := range map[string]struct {
		platform  Platform
		namespace string
		// wantAccounts have these roles; without any the chart has made them.
		wantAccounts map[string][]string
		wantOfPods   []string
	}{
		"an operator of some namespaces makes none": {platform: named, namespace: "paris", wantAccounts: map[string][]string{},
			wantOfPods: []string{"x-subscriber-data", "x-session-management", "x-access-management", "x-control-plane"}},
		"nor one of all where the chart has made them": {platform: everywhere, namespace: "paris", wantAccounts: map[string][]string{},
			wantOfPods: []string{"x-subscriber-data", "x-session-management", "x-access-management", "x-control-plane"}},
		"elsewhere it does": {platform: everywhere, namespace: "lyon",
			wantAccounts: map[string][]string{
				"c-subscriber-data-account": {"system-x-subscriber-data"}, "c-session-management-account": {"system-x-session-management"},
				"c-access-management-account": {"system-x-access-management"},
				"c-control-plane-account":     {"system-x-subscriber-data", "system-x-session-management", "system-x-access-management"},
			},
			wantOfPods: []string{"c-subscriber-data-account", "c-session-management-account", "c-access-management-account", "c-control-plane-account"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			core := &api.Core5G{}
			core.Namespace, core.Name, core.UID = test.namespace, "c", "uid"
			p := test.platform
			if diff := cmp.Diff(test.wantOfPods, []string{p.subscriberDataAccount(core), p.sessionManagementAccount(core), p.accessManagementAccount(core), p.controlPlaneAccount(core)}); diff != "" {
				t.Errorf("accounts of pods (-want +got):\n%s", diff)
			}
			accounts, bindings := CoreAccounts(core, p)
			got := map[string][]string{}
			for _, a := range accounts {
				got[a.Name] = nil
				if a.Namespace != test.namespace || a.OwnerReferences[0].UID != "uid" {
					t.Errorf("account %s/%s of %v", a.Namespace, a.Name, a.OwnerReferences)
				}
			}
			names := map[string]bool{}
			for _, b := range bindings {
				if b.Namespace != test.namespace || b.RoleRef.Kind != "ClusterRole" || b.Subjects[0].Namespace != test.namespace || b.OwnerReferences[0].UID != "uid" || names[b.Name] {
					t.Errorf("binding %+v", b)
				}
				names[b.Name] = true
				got[b.Subjects[0].Name] = append(got[b.Subjects[0].Name], b.RoleRef.Name)
			}
			if diff := cmp.Diff(test.wantAccounts, got); diff != "" {
				t.Errorf("accounts and their roles (-want +got):\n%s", diff)
			}
		})
	}
}
