package registration

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"

	"gopkg.in/yaml.v2"
)

// configuration is what all of free5GC's configuration files have in common.
type configuration struct {
	Configuration struct {
		NfInstanceID string `yaml:"nfInstanceId"`
		NrfURI       string `yaml:"nrfUri"`
		Sbi          struct {
			RegisterIPv4 string `yaml:"registerIPv4"`
			Port         int    `yaml:"port"`
		} `yaml:"sbi"`
	} `yaml:"configuration"`
}

// InstanceID gives the NF instance id to use: the one in the environment variable env, else the one in
// the configuration file, else one derived from the address that the function registers. nfType keeps
// two functions at one address apart.
func InstanceID(env, nfType, configPath string) (string, error) {
	if id := os.Getenv(env); id != "" {
		return id, nil
	}
	raw, err := os.ReadFile(configPath)
	if err != nil {
		return "", err
	}
	var c configuration
	if err := yaml.Unmarshal(raw, &c); err != nil {
		return "", fmt.Errorf("%s: %w", configPath, err)
	}
	if c.Configuration.NfInstanceID != "" {
		return c.Configuration.NfInstanceID, nil
	}
	return derive(nfType, c.Configuration.NrfURI, c.Configuration.Sbi.RegisterIPv4, c.Configuration.Sbi.Port), nil
}

// derive makes a UUID of the form that free5GC's configuration check accepts, version 4, from a hash.
func derive(nfType, nrf, address string, port int) string {
	// The same function over https takes the place of its profile over http.
	if rest, secure := strings.CutPrefix(nrf, "https://"); secure {
		nrf = "http://" + rest
	}
	h := sha256.Sum256(fmt.Appendf(nil, "core5g %s %s %s %d", nfType, nrf, address, port))
	h[6] = h[6]&0x0f | 0x40
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
