package operate

import (
	"testing"
	"time"
)

// After the incidents the panels that are empty in a healthy core have something to show too. The
// pages are drawn as they are then: with traffic, incidents, and the alerts as red bands.
func TestDashboardsShowTheIncidents(t *testing.T) {
	ctx := story(t, 4*time.Minute)
	answered := draw(t, ctx)
	for uid, titles := range map[string][]string{
		"core5g-core":           {"Dropped packets", "Registrations", "Traffic by slice"},
		"core5g-upf":            {"Dropped by reason"},
		"core5g-authentication": {"Failures", "Registration Rejects"},
		"core5g-n4":             {"Restarts noticed"},
	} {
		for _, title := range titles {
			t.Run(uid+" "+title, func(t *testing.T) {
				for _, a := range answered[uid].Answers {
					if a.Panel.Title == title {
						if len(a.Series) == 0 {
							t.Errorf("nothing to show: %s", a.Panel.FieldConfig.Defaults.NoValue)
						}
						return
					}
				}
				t.Errorf("%s has no such panel", uid)
			})
		}
	}
	if answered["core5g-core"] != nil && len(answered["core5g-core"].Alerts) == 0 {
		t.Error("no alert is marked, though some fired")
	}
}
