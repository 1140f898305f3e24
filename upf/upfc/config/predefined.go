package config

import (
	"fmt"

	"core5g.dev/core5g/upf/upfc/rules"
)

// PredefinedRule is one that CP functions activate by name (TS 29.244 5.19).
type PredefinedRule struct {
	Name string `yaml:"name"`
	// Filters are flow descriptions, of which one must match: permit out ip from 203.0.113.0/24 to assigned.
	Filters []string `yaml:"filters"`
	// Gate: open, or empty: packets go as the PDR says that names the rule. closed: they are dropped.
	Gate string `yaml:"gate"`
}

const (
	maxPredefinedName    = 255
	maxPredefinedFilters = 64
)

// Predefined are the predefined rules by name.
func (c *Config) Predefined() (map[string]*rules.Predefined, error) {
	out := make(map[string]*rules.Predefined, len(c.PredefinedRules))
	for i := range c.PredefinedRules {
		r, at := &c.PredefinedRules[i], fmt.Sprintf("predefinedRules[%d]", i)
		switch {
		case r.Name == "" || len(r.Name) > maxPredefinedName:
			return nil, fmt.Errorf("%s.name: %q is none of 1 to %d characters: write the name that CP functions activate, for example video", at, r.Name, maxPredefinedName)
		case out[r.Name] != nil:
			return nil, fmt.Errorf("%s.name: %s is the name of two rules: write one rule with the filters of both, or another name", at, r.Name)
		case len(r.Filters) == 0 || len(r.Filters) > maxPredefinedFilters:
			return nil, fmt.Errorf("%s.filters: has %d flow descriptions: write 1 to %d, for example permit out ip from 203.0.113.0/24 to assigned", at, len(r.Filters), maxPredefinedFilters)
		case r.Gate != "" && r.Gate != "open" && r.Gate != "closed":
			return nil, fmt.Errorf("%s.gate: %q is neither open nor closed: write one of them", at, r.Gate)
		}
		rule := &rules.Predefined{Closed: r.Gate == "closed"}
		for j, text := range r.Filters {
			flow, err := rules.ParseFlow(text)
			if err != nil {
				return nil, fmt.Errorf("%s.filters[%d]: %q: %w: write for example permit out ip from 203.0.113.0/24 to assigned", at, j, text, err)
			}
			rule.Flows = append(rule.Flows, *flow)
		}
		out[r.Name] = rule
	}
	return out, nil
}
