package config

import "fmt"

// Limits bound what CP functions can make this UPF hold. How many rules one session has is bounded by
// the contract with upf-u, and so is the number of slots for QERs and URRs.
type Limits struct {
	Sessions     uint32 `yaml:"sessions"`     // 0: as many as upf-u can hold
	Associations int    `yaml:"associations"` // CP functions
	Requests     int    `yaml:"requests"`     // of sessions, under way or waiting
	Answers      int    `yaml:"answers"`      // MiB, of answers that are kept for repeated requests
	Reports      int    `yaml:"reports"`      // usage and error reports under way to one CP function
}

func defaultLimits() Limits {
	return Limits{Associations: 64, Requests: 4096, Answers: 16, Reports: 64}
}

func (l *Limits) check() error {
	for _, v := range []struct {
		key             string
		is, least, most int
	}{{"associations", l.Associations, 1, 4096}, {"requests", l.Requests, 1, 65536}, {"answers", l.Answers, 1, 1024}, {"reports", l.Reports, 1, 4096}} {
		if v.is < v.least || v.is > v.most {
			return fmt.Errorf("limits.%s: %d is not between %d and %d: write a number that is", v.key, v.is, v.least, v.most)
		}
	}
	return nil
}
