package runner

import (
	"reflect"
	"testing"
	"time"

	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/n2"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// Stages of a UE at which something comes that nobody expects: stage counts what has happened of its registration, down to each message and each write. From these on
// it has registered, it has a session, and it is idle with one.
const (
	stageRegistered = 200
	stageSession    = 220
	stageIdle       = 240
)

// at has a UE come as far as a stage.
func at(t *testing.T, stage uint8) *network {
	n := newNetwork(t)
	for shard := range uint16(mostShards) {
		n.hold(1 + shard)
	}
	n.phone.register()
	if stage < stageRegistered {
		for range stage {
			if len(n.soon) > 0 {
				f := n.soon[0]
				n.soon = n.soon[1:]
				f()
			}
		}
		return n
	}
	n.settle()
	if stage >= stageSession {
		n.phone.uplinkNAS(n.phone.protected(&n1.ULNASTransport{
			PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 1, 0xc1, 0xff, 0xff}, SessionID: 1, Request: n1.RequestInitial, DNN: "internet",
		}, n1.IntegrityProtectedAndCiphered))
		n.settle()
	}
	if stage >= stageIdle {
		n.phone.says(&n2.UEContextReleaseRequest{UE: n.phone.ids(), Cause: ngapcause.UserInactivity})
		n.settle()
	}
	if rec := n.kept(); !n.phone.registered || rec == nil || stage >= stageSession && len(rec.Sessions) == 0 || stage >= stageIdle && rec.N2 != nil {
		t.Fatalf("stage %d was not reached: %+v", stage, rec)
	}
	return n
}

func (p *phone) ids() n2.UEIDs { return n2.UEIDs{AMF: p.amf, RAN: n2.RANUEID(p.ran)} }

// comesThrough: time goes, and the UE registers. Whatever was said before, it can, no message waits, and nothing is left in the midst of something.
func (n *network) comesThrough() {
	n.t.Helper()
	n.pass(3 * time.Minute)
	for try := 0; try == 0 || !n.phone.registered && try < 4; try++ {
		n.phone.register()
		n.pass(15 * time.Second)
	}
	n.pass(time.Minute)
	rec := n.kept()
	if !n.phone.registered || rec == nil {
		n.t.Fatalf("the UE cannot register any more: %+v\n%v\n%v", rec, n.noted, n.phone.log)
	}
	n.rests(rec)
}

// rests: nothing waits for what does not come.
func (n *network) rests(rec *record.UE) {
	n.t.Helper()
	if rec != nil && rec.Procedure != nil {
		n.t.Errorf("the UE is in the midst of something: %+v\n%v", rec.Procedure, n.phone.log)
	}
	if all, _ := n.term.Waiting(); all != 0 {
		n.t.Errorf("%d messages were not done with: %v", all, n.noted)
	}
}

// plainly are messages of UEs, as they are protected.
func plainly(f *testing.F) (out [][]byte) {
	plmn, _ := n2.MakePLMN("208", "93")
	suci := n1.SUCI{Home: n1.PLMN(plmn), Routing: "0", Scheme: n1.SchemeNull, MSIN: "0000000001"}
	guti := n1.GUTI{PLMN: n1.PLMN(plmn), Region: 1, Set: amfSet, Pointer: 1, TMSI: record.TMSI(1, 1)}
	other := guti
	other.Set++
	sessions := n1.Of(1)
	capability := n1.UESecurityCapability{0xf0, 0x70, 0xf0, 0x70}
	for _, m := range []n1.Message{
		&n1.RegistrationRequest{RegistrationType: n1.InitialRegistration, FollowOn: true, KeySet: n1.NoKey, Identity: suci, Security: capability},
		&n1.RegistrationRequest{RegistrationType: n1.MobilityRegistration, Identity: guti, Security: capability, Sessions: &sessions, UplinkData: &sessions},
		&n1.RegistrationRequest{RegistrationType: n1.PeriodicRegistration, Identity: guti},
		&n1.RegistrationRequest{RegistrationType: n1.InitialRegistration, Identity: other, Security: capability},
		&n1.RegistrationRequest{RegistrationType: n1.EmergencyRegistration, KeySet: n1.NoKey, Identity: n1.IMEI("437081612581615"), Security: capability},
		&n1.RegistrationComplete{}, &n1.ConfigurationUpdateComplete{}, &n1.Status{Cause: n1.CauseMessageTypeNotCompatible},
		&n1.ServiceRequest{Service: n1.ServiceData, STMSI: n1.STMSI{Set: amfSet, Pointer: 1, TMSI: guti.TMSI}, UplinkData: &sessions, Sessions: &sessions},
		&n1.DeregistrationRequestFromUE{SwitchOff: true, Identity: guti}, &n1.DeregistrationRequestFromUE{Identity: suci}, &n1.DeregistrationAcceptFromUE{},
		&n1.AuthenticationResponse{RES: octets(3)}, &n1.AuthenticationFailure{Cause: n1.CauseSynchFailure, AUTS: &n1.Resynchronisation{1}},
		&n1.AuthenticationFailure{Cause: n1.CauseMACFailure}, &n1.SecurityModeComplete{IMEISV: "4370816125816151"}, &n1.SecurityModeReject{Cause: n1.CauseSecurityModeRejected},
		&n1.IdentityResponse{Identity: suci},
		&n1.ULNASTransport{PayloadType: n1.PayloadN1SM, Payload: []byte{0x2e, 1, 1, 0xc1, 0xff, 0xff}, SessionID: 1, Request: n1.RequestInitial, DNN: "internet"},
		&n1.ULNASTransport{PayloadType: n1.PayloadSMS, Payload: []byte{9}},
	} {
		b, err := n1.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// FuzzNAS: whatever a UE says, before its security context and within it, plainly, protected, and as with a new context, at any moment of its registration and after it,
// on its connection or on a new one: nobody panics, it is answered in messages that can be read, no downlink COUNT is used twice, and it can register afterwards.
func FuzzNAS(f *testing.F) {
	for k, b := range plainly(f) {
		for _, stage := range []uint8{0, 6, 12, 20, 30, stageRegistered, stageSession, stageIdle} {
			f.Add(stage, uint8(k), b)
			f.Add(stage, uint8(k+1), b)
		}
	}
	headers := []n1.SecurityHeader{n1.Plain, n1.IntegrityProtectedAndCiphered, n1.IntegrityProtected, n1.IntegrityProtectedAndCipheredNewContext, n1.IntegrityProtectedNewContext}
	f.Fuzz(func(t *testing.T, stage, how uint8, nas []byte) {
		n := at(t, stage)
		p := n.phone
		if h := headers[int(how/2)%len(headers)]; h != n1.Plain && p.key != nil {
			nas = n1.Envelope{Header: h, MAC: mac(p.key, 0, p.uplink, nas), Sequence: uint8(p.uplink), Payload: nas}.Append(nil)
			p.uplink++
		}
		var m n2.Message = &n2.UplinkNASTransport{UE: p.ids(), NAS: nas, Location: p.location()}
		if connected := p.amf != 0 && stage < stageIdle; !connected || how%2 == 1 {
			p.ran++
			first := &n2.InitialUEMessage{RAN: n2.RANUEID(p.ran), Location: p.location(), Establishment: 3, ContextRequest: true, NAS: nas}
			if p.tmsi != 0 {
				first.STMSI = &n2.FiveGSTMSI{Set: amfSet, Pointer: 1, TMSI: p.tmsi}
			}
			m = first
		}
		b, err := n2.Write(m)
		if err != nil { // longer than a message can be
			return
		}
		n.term.Received(gnbAt, b)
		n.comesThrough()
	})
}

// FuzzNGAP: whatever a gNB says at any moment of a UE's registration and after it, nobody panics, what is answered can be read, and no message waits for ever.
// Where the gNB is as it was, the UE can register afterwards.
func FuzzNGAP(f *testing.F) {
	seen := at(&testing.T{}, stageSession).phone
	ue, plmn := seen.ids(), seen.location().TAI.PLMN
	transfer := []n2.Session{{ID: 1, Transfer: []byte{0, 3, 0xe0, 10, 0, 0, 1, 0, 0, 0, 1, 0, 1}}}
	node := n2.RANNode{Kind: n2.GNB, PLMN: plmn, ID: 1, Bits: 24}
	for _, m := range []n2.Message{
		&n2.UplinkNASTransport{UE: ue, NAS: seen.protected(&n1.RegistrationComplete{}, n1.IntegrityProtectedAndCiphered), Location: seen.location()},
		&n2.InitialContextSetupResponse{UE: ue, Sessions: transfer}, &n2.InitialContextSetupFailure{UE: ue, Cause: ngapcause.UserInactivity},
		&n2.UEContextReleaseRequest{UE: ue, Cause: ngapcause.UserInactivity}, &n2.UEContextReleaseComplete{UE: ue},
		&n2.ErrorIndication{AMF: &ue.AMF, RAN: &ue.RAN}, &n2.PDUSessionResourceSetupResponse{UE: ue, Sessions: transfer},
		&n2.PDUSessionResourceNotify{UE: ue, Released: transfer}, &n2.HandoverCancel{UE: ue, Cause: ngapcause.UserInactivity},
		&n2.HandoverRequired{UE: ue, Cause: ngapcause.UserInactivity, Target: n2.HandoverTarget{Node: node, TAI: seen.location().TAI}, Sessions: transfer, Container: []byte{1}},
		&n2.PathSwitchRequest{RAN: 60, SourceAMF: ue.AMF, Location: seen.location(), Sessions: transfer},
		&n2.HandoverNotify{UE: ue, Location: seen.location()}, &n2.AMFConfigurationUpdateAcknowledge{},
		&n2.NGSetupRequest{
			Node: node, Name: "roof", DRX: n2.DRX128,
			TAs: []n2.SupportedTA{{TAC: 1, PLMNs: []n2.PLMNSlices{{PLMN: plmn, Slices: []n2.SNSSAI{{SST: 1}}}}}},
		},
		&n2.NGReset{Cause: ngapcause.UserInactivity},
	} {
		b, err := n2.Write(m)
		if err != nil {
			f.Fatalf("%T: %v", m, err)
		}
		for _, stage := range []uint8{0, 12, 30, stageRegistered, stageSession, stageIdle} {
			f.Add(stage, b)
		}
	}
	f.Fuzz(func(t *testing.T, stage uint8, octets []byte) {
		n := at(t, stage)
		was := n.nodes[gnbAt]
		n.term.Received(gnbAt, octets)
		n.settle()
		if is := n.nodes[gnbAt]; is != nil && reflect.DeepEqual(was, is) {
			n.comesThrough()
			return
		}
		n.pass(5 * time.Minute)
		n.rests(n.kept())
	})
}
