package n2

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/free5gc/aper"
)

// InfoType is N2SmInfoType of TS 29.502 6.1.6.3.12: what the SBI calls a transfer.
type InfoType string

// The information types.
const (
	InfoSetupRequest                           InfoType = "PDU_RES_SETUP_REQ"
	InfoSetupResponse                          InfoType = "PDU_RES_SETUP_RSP"
	InfoSetupUnsuccessful                      InfoType = "PDU_RES_SETUP_FAIL"
	InfoReleaseCommand                         InfoType = "PDU_RES_REL_CMD"
	InfoReleaseResponse                        InfoType = "PDU_RES_REL_RSP"
	InfoModifyRequest                          InfoType = "PDU_RES_MOD_REQ"
	InfoModifyResponse                         InfoType = "PDU_RES_MOD_RSP"
	InfoModifyUnsuccessful                     InfoType = "PDU_RES_MOD_FAIL"
	InfoNotify                                 InfoType = "PDU_RES_NTY"
	InfoNotifyReleased                         InfoType = "PDU_RES_NTY_REL"
	InfoModifyIndication                       InfoType = "PDU_RES_MOD_IND"
	InfoModifyConfirm                          InfoType = "PDU_RES_MOD_CFM"
	InfoModifyIndicationUnsuccessful           InfoType = "PDU_RES_MOD_IND_FAIL"
	InfoPathSwitchRequest                      InfoType = "PATH_SWITCH_REQ"
	InfoPathSwitchSetupFailed                  InfoType = "PATH_SWITCH_SETUP_FAIL"
	InfoPathSwitchAcknowledge                  InfoType = "PATH_SWITCH_REQ_ACK"
	InfoPathSwitchUnsuccessful                 InfoType = "PATH_SWITCH_REQ_FAIL"
	InfoHandoverRequired                       InfoType = "HANDOVER_REQUIRED"
	InfoHandoverCommand                        InfoType = "HANDOVER_CMD"
	InfoHandoverPreparationUnsuccessful        InfoType = "HANDOVER_PREP_FAIL"
	InfoHandoverAcknowledge                    InfoType = "HANDOVER_REQ_ACK"
	InfoHandoverResourceAllocationUnsuccessful InfoType = "HANDOVER_RES_ALLOC_FAIL"
	InfoSecondaryRATUsage                      InfoType = "SECONDARY_RAT_USAGE"
)

// Transfer is one of the structs of this package.
type Transfer interface {
	// InfoType is what the SBI calls the transfer.
	InfoType() InfoType
	// Encode writes it. An error is a *Fault that says what cannot be written.
	Encode() ([]byte, error)

	read(c *check, b []byte)
}

// Fault is what is wrong with a transfer.
type Fault struct {
	Type InfoType
	// IE in the words of TS 38.413, "" where it is the transfer as a whole.
	IE  string
	Err error
}

// Error names the transfer, its clause, and the IE.
func (f *Fault) Error() string {
	name, clause := f.Type.words()
	if f.IE == "" {
		return fmt.Sprintf("%s (TS 38.413 %s): %v", name, clause, f.Err)
	}
	return fmt.Sprintf("%s (TS 38.413 %s): %s: %v", name, clause, f.IE, f.Err)
}

// Unwrap is the cause.
func (f *Fault) Unwrap() error { return f.Err }

// ErrUnknownType: no transfer has this information type.
var ErrUnknownType = errors.New("no N2 SM information that is known (TS 29.502 6.1.6.3.12)")

// Decode reads a transfer; the result is a pointer to one of the structs of this package, by its type. An error is a
// *Fault: then there is no result.
func Decode(kind InfoType, b []byte) (Transfer, error) {
	t, _, _ := known(kind)
	if t == nil {
		return nil, &Fault{Type: kind, Err: ErrUnknownType}
	}
	var c check
	t.read(&c, b)
	if c.err != nil {
		return nil, &Fault{Type: kind, IE: c.ie, Err: c.err}
	}
	return t, nil
}

// words are the transfer's name and clause in TS 38.413.
func (t InfoType) words() (name, clause string) {
	if _, name, clause = known(t); name == "" {
		return fmt.Sprintf("%q", string(t)), "9.3.4"
	}
	return name, clause
}

// known returns an empty transfer of the type, its name, and its clause of TS 38.413; nil where there is none.
func known(t InfoType) (Transfer, string, string) {
	switch t {
	case InfoSetupRequest:
		return &SetupRequest{}, "PDU Session Resource Setup Request Transfer", "9.3.4.1"
	case InfoSetupResponse:
		return &SetupResponse{}, "PDU Session Resource Setup Response Transfer", "9.3.4.2"
	case InfoModifyRequest:
		return &ModifyRequest{}, "PDU Session Resource Modify Request Transfer", "9.3.4.3"
	case InfoModifyResponse:
		return &ModifyResponse{}, "PDU Session Resource Modify Response Transfer", "9.3.4.4"
	case InfoNotify:
		return &Notify{}, "PDU Session Resource Notify Transfer", "9.3.4.5"
	case InfoModifyIndication:
		return &ModifyIndication{}, "PDU Session Resource Modify Indication Transfer", "9.3.4.6"
	case InfoModifyConfirm:
		return &ModifyConfirm{}, "PDU Session Resource Modify Confirm Transfer", "9.3.4.7"
	case InfoPathSwitchRequest:
		return &PathSwitchRequest{}, "Path Switch Request Transfer", "9.3.4.8"
	case InfoPathSwitchAcknowledge:
		return &PathSwitchAcknowledge{}, "Path Switch Request Acknowledge Transfer", "9.3.4.9"
	case InfoHandoverCommand:
		return &HandoverCommand{}, "Handover Command Transfer", "9.3.4.10"
	case InfoHandoverAcknowledge:
		return &HandoverAcknowledge{}, "Handover Request Acknowledge Transfer", "9.3.4.11"
	case InfoReleaseCommand:
		return &ReleaseCommand{}, "PDU Session Resource Release Command Transfer", "9.3.4.12"
	case InfoNotifyReleased:
		return &NotifyReleased{}, "PDU Session Resource Notify Released Transfer", "9.3.4.13"
	case InfoHandoverRequired:
		return &HandoverRequired{}, "Handover Required Transfer", "9.3.4.14"
	case InfoPathSwitchSetupFailed:
		return &PathSwitchSetupFailed{}, "Path Switch Request Setup Failed Transfer", "9.3.4.15"
	case InfoSetupUnsuccessful:
		return &SetupUnsuccessful{}, "PDU Session Resource Setup Unsuccessful Transfer", "9.3.4.16"
	case InfoModifyUnsuccessful:
		return &ModifyUnsuccessful{}, "PDU Session Resource Modify Unsuccessful Transfer", "9.3.4.17"
	case InfoHandoverPreparationUnsuccessful:
		return &HandoverPreparationUnsuccessful{}, "Handover Preparation Unsuccessful Transfer", "9.3.4.18"
	case InfoHandoverResourceAllocationUnsuccessful:
		return &HandoverResourceAllocationUnsuccessful{}, "Handover Resource Allocation Unsuccessful Transfer", "9.3.4.19"
	case InfoPathSwitchUnsuccessful:
		return &PathSwitchUnsuccessful{}, "Path Switch Request Unsuccessful Transfer", "9.3.4.20"
	case InfoReleaseResponse:
		return &ReleaseResponse{}, "PDU Session Resource Release Response Transfer", "9.3.4.21"
	case InfoModifyIndicationUnsuccessful:
		return &ModifyIndicationUnsuccessful{}, "PDU Session Resource Modify Indication Unsuccessful Transfer", "9.3.4.22"
	case InfoSecondaryRATUsage:
		return &SecondaryRATUsage{}, "Secondary RAT Data Usage Report Transfer", "9.3.4.23"
	}
	return nil, "", ""
}

// check goes through a transfer and keeps the first thing that is wrong with it, so that what reads or writes one can
// be read from top to bottom.
type check struct {
	ie  string
	err error
}

func (c *check) fail(ie, format string, a ...any) {
	if c.err == nil {
		c.ie, c.err = ie, fmt.Errorf(format, a...)
	}
}

// within checks a number of an IE that may be extended: the codec lets any through.
func (c *check) within(ie string, value, low, high int64) int64 {
	if value < low || value > high {
		c.fail(ie, "%d is outside of %d to %d", value, low, high)
		return low
	}
	return value
}

// count checks the length of a list: the codec reads as many as the field of the length can say.
func (c *check) count(ie string, n, high int) {
	if n < 1 || n > high {
		c.fail(ie, "%d entries, there are 1 to %d", n, high)
	}
}

// encode writes the ASN.1 value of a transfer.
func (c *check) encode(t Transfer, v any) ([]byte, error) {
	var b []byte
	if c.err == nil {
		guarded(&c.err, func() (err error) {
			b, err = aper.MarshalWithParams(v, "valueExt")
			return err
		})
	}
	if c.err != nil {
		return nil, &Fault{Type: t.InfoType(), IE: c.ie, Err: c.err}
	}
	return b, nil
}

// decode reads the ASN.1 value of a transfer, and tells whether to go on.
func (c *check) decode(b []byte, v any) bool {
	guarded(&c.err, func() error { return aper.UnmarshalWithParams(b, v, "valueExt") })
	if c.err != nil {
		c.err = fmt.Errorf("cannot be decoded: %w", c.err)
	}
	return c.err == nil
}

// decodeIEs reads the ASN.1 value of a transfer that is a container of IEs. The codec takes a list whose length is cut off
// for an empty one, and makes room for as many as the length says.
func (c *check) decodeIEs(b []byte, v any) bool {
	const header, least = 3, 4
	if len(b) < header || int(binary.BigEndian.Uint16(b[1:]))*least > len(b)-header {
		c.fail("", "cannot be decoded: %d octets do not hold the IEs that it says it has", len(b))
		return false
	}
	return c.decode(b, v)
}

// guarded turns a panic of the codec into an error: what it reads comes from a gNB.
func guarded(err *error, do func() error) {
	defer func() {
		if r := recover(); r != nil {
			*err = fmt.Errorf("the codec gave up: %v", r)
		}
	}()
	*err = do()
}
