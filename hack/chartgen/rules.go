package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// clusterScoped lists the resources without a namespace that an operator could ask for, by group.
// Whatever stands in none of the lists is namespaced. Namespaces are not in it: a Role may grant a look at its own.
var clusterScoped = map[string][]string{
	"":                          {"nodes", "persistentvolumes"},
	"core5g.dev":                {"dataplanenodes", "dataplanenodes/status", "dataplanenodes/finalizers"},
	"apiextensions.k8s.io":      {"customresourcedefinitions"},
	"networking.k8s.io":         {"servicecidrs", "ipaddresses", "ingressclasses"},
	"storage.k8s.io":            {"storageclasses"},
	"scheduling.k8s.io":         {"priorityclasses"},
	"rbac.authorization.k8s.io": {"clusterroles", "clusterrolebindings"},
}

// readRules returns the rules of every Role and ClusterRole of a file.
func readRules(path string) ([]rbacv1.PolicyRule, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)+1)
	for {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := decoder.Decode(&role); errors.Is(err, io.EOF) {
			return rules, nil
		} else if err != nil {
			return nil, err
		}
		if role.Kind == "Role" || role.Kind == "ClusterRole" {
			rules = append(rules, role.Rules...)
		}
	}
}

// splitRules divides rules into those for a Role and those that only a ClusterRole can give. A
// wildcard is refused: nobody can say what it grants.
func splitRules(rules []rbacv1.PolicyRule) (namespaced, cluster []rbacv1.PolicyRule, err error) {
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			cluster = append(cluster, rule)
			continue
		}
		inNamespace, inCluster := rule.DeepCopy(), rule.DeepCopy()
		inNamespace.Resources, inCluster.Resources = nil, nil
		for _, resource := range rule.Resources {
			scoped := 0
			for _, group := range rule.APIGroups {
				if resource == "*" || group == "*" {
					return nil, nil, fmt.Errorf("rule %v grants a wildcard: name the groups and resources", rule)
				}
				if slices.Contains(clusterScoped[group], resource) {
					scoped++
				}
			}
			switch scoped {
			case 0:
				inNamespace.Resources = append(inNamespace.Resources, resource)
			case len(rule.APIGroups):
				inCluster.Resources = append(inCluster.Resources, resource)
			default:
				return nil, nil, fmt.Errorf("rule %v: %s has a namespace in one group and none in another: write two rules", rule, resource)
			}
		}
		if slices.Contains(rule.Verbs, "*") {
			return nil, nil, fmt.Errorf("rule %v grants every verb: name them", rule)
		}
		if len(inNamespace.Resources) > 0 {
			namespaced = append(namespaced, *inNamespace)
		}
		if len(inCluster.Resources) > 0 {
			cluster = append(cluster, *inCluster)
		}
	}
	return namespaced, cluster, nil
}
