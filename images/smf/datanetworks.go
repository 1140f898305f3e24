package main

import (
	"fmt"
	"os"

	"gopkg.in/yaml.v2"
)

// dataNetwork is what the configuration says of one beside what free5GC's own reading of it takes:
// snssaiInfos[].dnnInfos[].
type dataNetwork struct {
	DNN string `yaml:"dnn"`
	// MTU of the link to UEs, octets; 0: not said.
	MTU uint16 `yaml:"mtu"`
	DNS struct {
		Second string `yaml:"second"`
	} `yaml:"dns"`
}

// dataNetworks reads those of all slices.
func dataNetworks(configPath string) ([]dataNetwork, error) {
	raw, err := os.ReadFile(configPath)
	if err != nil {
		return nil, err
	}
	var c struct {
		Configuration struct {
			SNSSAIInfos []struct {
				DNNInfos []dataNetwork `yaml:"dnnInfos"`
			} `yaml:"snssaiInfos"`
		} `yaml:"configuration"`
	}
	if err := yaml.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", configPath, err)
	}
	var all []dataNetwork
	for _, slice := range c.Configuration.SNSSAIInfos {
		all = append(all, slice.DNNInfos...)
	}
	return all, nil
}
