package main

import (
	"testing"

	"github.com/free5gc/openapi/models"
)

func TestResourcesAreNamedAsTheirServicesAreRegistered(t *testing.T) {
	const name = models.ServiceName_NPCF_AM_POLICY_CONTROL
	roots := map[models.ServiceName]string{name: "https://core5g-pcf:8001/npcf-am-policy-control/v1"}
	nameResources(roots, map[models.ServiceName]models.NrfNfManagementNfService{
		name: {ServiceName: name, ApiPrefix: "https://core5g-pcf:8000", Versions: []models.NfServiceVersion{{ApiFullVersion: "1.0.0", ApiVersionInUri: "v1"}}},
	})
	if want := "https://core5g-pcf:8000/npcf-am-policy-control/v1"; roots[name] != want {
		t.Errorf("%s, want %s", roots[name], want)
	}
}
