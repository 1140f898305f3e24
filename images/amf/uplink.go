package main

import (
	"reflect"

	"github.com/free5gc/ngap"
	"github.com/free5gc/ngap/ngapType"
)

// kind is what an uplink NGAP message (TS 38.413) means for the admission of its UE.
type kind int

const (
	// other is of no UE, or of one in a procedure that needs no admission.
	other kind = iota
	initialRegistration
	// carried has a NAS message of a UE that is known.
	carried
	contextSetUp
	sessionSetUp
	// gone: the UE's context is released, or will be.
	gone
)

const initiating, successful, unsuccessful = 0x00, 0x20, 0x40

// ofUEs are the messages that say something, by choice and procedure code, their first two octets, with their
// place in the library's PDU.
var ofUEs = map[[2]byte]struct {
	kind            kind
	choice, message string
}{
	{initiating, byte(ngapType.ProcedureCodeInitialUEMessage)}:        {initialRegistration, "InitiatingMessage", "InitialUEMessage"},
	{initiating, byte(ngapType.ProcedureCodeUplinkNASTransport)}:      {carried, "InitiatingMessage", "UplinkNASTransport"},
	{initiating, byte(ngapType.ProcedureCodeUEContextReleaseRequest)}: {gone, "InitiatingMessage", "UEContextReleaseRequest"},
	{successful, byte(ngapType.ProcedureCodeInitialContextSetup)}:     {contextSetUp, "SuccessfulOutcome", "InitialContextSetupResponse"},
	{successful, byte(ngapType.ProcedureCodePDUSessionResourceSetup)}: {sessionSetUp, "SuccessfulOutcome", "PDUSessionResourceSetupResponse"},
	{successful, byte(ngapType.ProcedureCodeUEContextRelease)}:        {gone, "SuccessfulOutcome", "UEContextReleaseComplete"},
	{unsuccessful, byte(ngapType.ProcedureCodeInitialContextSetup)}:   {gone, "UnsuccessfulOutcome", "InitialContextSetupFailure"},
}

// look tells what a message is, and of which UE, by its RAN UE NGAP ID.
func look(message []byte) (kind, int64) {
	if len(message) < 2 {
		return other, 0
	}
	m, ok := ofUEs[[2]byte(message[:2])]
	if !ok {
		return other, 0
	}
	pdu, err := ngap.Decoder(message)
	if err != nil || pdu == nil {
		return other, 0 // the AMF says what is wrong with it
	}
	body := reflect.ValueOf(pdu).Elem().FieldByName(m.choice)
	if body.IsNil() {
		return other, 0
	}
	if body = body.Elem().FieldByName("Value").FieldByName(m.message); body.IsNil() {
		return other, 0
	}
	var ue *ngapType.RANUENGAPID
	var nas *ngapType.NASPDU
	elements := body.Elem().FieldByName("ProtocolIEs").FieldByName("List")
	for i := range elements.Len() {
		value := elements.Index(i).FieldByName("Value")
		if id, _ := value.FieldByName("RANUENGAPID").Interface().(*ngapType.RANUENGAPID); id != nil {
			ue = id
		}
		if m.kind == initialRegistration {
			if pdu, _ := value.FieldByName("NASPDU").Interface().(*ngapType.NASPDU); pdu != nil {
				nas = pdu
			}
		}
	}
	if ue == nil || m.kind == initialRegistration && (nas == nil || !isInitialRegistration(nas.Value)) {
		return other, 0
	}
	return m.kind, ue.Value
}

// isInitialRegistration reads the head of a NAS message (TS 24.501 9.1): a REGISTRATION REQUEST (9.7), in clear
// or integrity protected, whose type (9.11.3.7) is initial registration.
func isInitialRegistration(nas []byte) bool {
	const (
		mobilityManagement  = 0x7e
		protectedHead       = 7 // discriminator, security header type, MAC, sequence number
		registrationRequest = 0x41
		initial             = 1
	)
	if len(nas) > protectedHead && nas[0] == mobilityManagement && nas[1]&0x0f == 1 {
		nas = nas[protectedHead:]
	}
	return len(nas) > 3 && nas[0] == mobilityManagement && nas[1]&0x0f == 0 &&
		nas[2] == registrationRequest && nas[3]&0x07 == initial
}
