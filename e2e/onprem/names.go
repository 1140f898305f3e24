package onprem

// The objects of the suite.
const (
	upfInstance = "onprem"
	slice       = "onprem"
	probeName   = "onprem-probe"
)

// phones are two, so that each unit has the session of one: the SMF fills units evenly.
var phones = map[string]string{
	"onprem-phone-1": "imsi-208930000000031",
	"onprem-phone-2": "imsi-208930000000032",
}
