package accessmanagement

import (
	"fmt"

	"core5g.dev/core5g/images/nf/pod"

	"github.com/google/uuid"
)

// instanceNamespace makes the NF instance identifier stable: it follows from the name of the AMF's Service.
var instanceNamespace = uuid.NewSHA1(uuid.NameSpaceDNS, []byte("access-management.core5g.dev"))

// instance is the AMF as others know it, one for all its pods.
func (c *Config) instance() string {
	return uuid.NewSHA1(instanceNamespace, []byte(c.Namespace+"/"+c.Service)).String()
}

const (
	// set names the pods that share the shards.
	set = "amf"
	// keys of the AMF in the session store begin so: it is the SMF's, too.
	keys = set + ":"
)

// uri is the API root of the AMF.
func (c *Config) uri(scheme string) string {
	return fmt.Sprintf("%s://%s:%d", scheme, c.Service, servicePort)
}

// rootAt is the API root of the pod that has that name in leases. All listen at one port.
func (c *Config) rootAt(scheme, holder string) string {
	port, _ := portOf(c.SBI) // it was checked
	return pod.RootAt(scheme, holder, port)
}
