package n2

import (
	"errors"
	"slices"
	"testing"

	"core5g.dev/core5g/images/ngapcause"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// taken are the IEs of a message as they were written, to be put together otherwise.
func taken(t testing.TB, m Message) (Header, []rawIE) {
	t.Helper()
	b, err := Write(m)
	if err != nil {
		t.Fatal(err)
	}
	x := exchange{mode: reading}
	h, _, err := x.envelope(b)
	if err != nil {
		t.Fatal(err)
	}
	return h, x.raw
}

// together makes a message of IEs, whatever they are.
func together(h Header, ies []rawIE) []byte {
	c := coder{writing: true}
	c.boolean(false)
	c.put(uint64(h.Kind.Outcome), outcomeBits)
	c.align()
	c.put(uint64(h.Kind.Procedure), 8)
	c.criticality(h.Criticality)
	start := c.begin()
	c.boolean(false)
	c.integer(uint64(len(ies)), 0, mostCount)
	for _, e := range ies {
		c.field(e.id, e.criticality)
		c.putOctets(e.value)
	}
	c.end(start)
	return c.b
}

func without(id IE) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		return slices.DeleteFunc(ies, func(e rawIE) bool { return e.id == id })
	}
}

func with(id IE, criticality Criticality, value string) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		return append(ies, rawIE{id: id, criticality: criticality, value: octets(value)})
	}
}

// as gives an IE another value.
func as(id IE, value string) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		for n := range ies {
			if ies[n].id == id {
				ies[n].value = octets(value)
			}
		}
		return ies
	}
}

// but gives it another criticality.
func but(id IE, criticality Criticality) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		for n := range ies {
			if ies[n].id == id {
				ies[n].criticality = criticality
			}
		}
		return ies
	}
}

func all(changes ...func([]rawIE) []rawIE) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		for _, change := range changes {
			ies = change(ies)
		}
		return ies
	}
}

func swapped(a, b int) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		ies[a], ies[b] = ies[b], ies[a]
		return ies
	}
}

func twice(id IE) func([]rawIE) []rawIE {
	return func(ies []rawIE) []rawIE {
		n := slices.IndexFunc(ies, func(e rawIE) bool { return e.id == id })
		return slices.Insert(ies, n, ies[n])
	}
}

const none IE = 4000

func uplink() *UplinkNASTransport {
	return &UplinkNASTransport{UE: ue1, NAS: []byte{0x7e}, Location: nrLocation()}
}

func setupRequest() *NGSetupRequest {
	return &NGSetupRequest{Node: gnb(22), Name: "gNB", TAs: supported(), DRX: DRX128}
}

func switched() *PathSwitchRequest {
	return &PathSwitchRequest{RAN: 2, SourceAMF: 1, Location: nrLocation(), Security: capabilities(), Sessions: sessions()}
}

func modified() *UEContextModificationRequest { return &UEContextModificationRequest{UE: ue1, RFSP: 3} }

// TS 38.413 10: what is not as it should be, and what its sender gets.
func TestFaults(t *testing.T) {
	ids := func(o ErrorIndication, p Procedure, c Criticality, ies ...IEDiagnostics) *ErrorIndication {
		o.AMF, o.RAN = at(ue1.AMF), at(ue1.RAN)
		o.Diagnostics = &CriticalityDiagnostics{Procedure: &p, Triggering: at(Initiating), Criticality: &c, IEs: ies}
		return &o
	}
	unknown := func(c Criticality) IEDiagnostics {
		return IEDiagnostics{Criticality: c, ID: none, Error: NotUnderstood}
	}
	missing := func(c Criticality, id IE) IEDiagnostics { return IEDiagnostics{Criticality: c, ID: id, Error: Missing} }
	reject := ErrorIndication{Cause: at(ngapcause.AbstractSyntaxReject)}
	notify := ErrorIndication{Cause: at(ngapcause.AbstractSyntaxNotify)}
	falsely := ErrorIndication{Cause: at(ngapcause.FalselyConstructed)}
	syntax := ErrorIndication{Cause: at(ngapcause.TransferSyntax)}
	for name, tc := range map[string]struct {
		message Message
		change  func([]rawIE) []rawIE
		// want is the message that is carried out all the same.
		want       Message
		wantCause  Cause
		wantReport Report
		wantAnswer Message
		// wantInResponse are those of the procedure's response.
		wantInResponse *CriticalityDiagnostics
	}{
		"10.3.4.2: an IE that is not known, to be ignored": {message: uplink(), change: with(none, Ignore, "00"), want: uplink()},
		"10.3.4.2: an IE that is not known, to be ignored with a notice, where there is no response": {
			message: uplink(), change: with(none, Notify, "00"), want: uplink(), wantCause: ngapcause.AbstractSyntaxNotify, wantReport: ByErrorIndication,
			wantAnswer: ids(notify, ProcedureUplinkNASTransport, Ignore, unknown(Notify)),
		},
		"10.3.4.2: an IE that is not known, to be ignored with a notice, where there is a response": {
			message: setupRequest(), change: with(none, Notify, "00"), want: setupRequest(), wantCause: ngapcause.AbstractSyntaxNotify, wantReport: InResponse,
			wantInResponse: &CriticalityDiagnostics{IEs: []IEDiagnostics{unknown(Notify)}},
		},
		"10.3.4.2: an IE that is not known, to be rejected, where there is no failure": {
			message: uplink(), change: with(none, Reject, "00"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: ids(reject, ProcedureUplinkNASTransport, Ignore, unknown(Reject)),
		},
		"10.3.4.2: an IE that is not known, to be rejected, where there is a failure": {
			message: setupRequest(), change: with(none, Reject, "00"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			wantAnswer: &NGSetupFailure{Cause: ngapcause.AbstractSyntaxReject, Diagnostics: &CriticalityDiagnostics{IEs: []IEDiagnostics{unknown(Reject)}}},
		},
		"10.3.4.2: a failure needs names that were not there: an Error Indication": {
			message: modified(), change: without(ieRANUEID), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: func() Message {
				out := ids(reject, ProcedureUEContextModification, Reject, missing(Reject, ieRANUEID))
				out.RAN = nil
				return out
			}(),
		},
		"10.3.4.2: a failure with the UE's names": {
			message: modified(), change: with(none, Reject, "00"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			wantAnswer: &UEContextModificationFailure{UE: ue1, Cause: ngapcause.AbstractSyntaxReject, Diagnostics: &CriticalityDiagnostics{IEs: []IEDiagnostics{unknown(Reject)}}},
		},
		"10.3.4.2: a path switch fails, and each session hears why": {
			message: switched(), change: with(none, Reject, "00"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			// TS 38.413 9.3.4.20: no extensions, group 3 of protocol, no extension, value 1 in three bits.
			wantAnswer: &PathSwitchRequestFailure{
				UE: ue1, Released: []Session{{ID: 1, Transfer: octets("1880")}, {ID: 255, Transfer: octets("1880")}},
				Diagnostics: &CriticalityDiagnostics{IEs: []IEDiagnostics{unknown(Reject)}},
			},
		},
		"10.3.4.2: a path switch without sessions": {
			message: switched(), change: without(ieSessionsToBeSwitched), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: ids(reject, ProcedurePathSwitchRequest, Reject, missing(Reject, ieSessionsToBeSwitched)),
		},
		"10.3.4.2: a response with an IE to be rejected has failed": {
			message: &UEContextModificationResponse{UE: ue1}, change: with(none, Reject, "00"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: Locally,
		},
		"10.3.4.2: a response with an IE to be ignored with a notice": {
			message: &UEContextModificationResponse{UE: ue1}, change: with(none, Notify, "00"), want: &UEContextModificationResponse{UE: ue1},
			wantCause: ngapcause.AbstractSyntaxNotify, wantReport: ByErrorIndication,
			wantAnswer: func() Message {
				out := ids(notify, ProcedureUEContextModification, Reject, unknown(Notify))
				out.Diagnostics.Triggering = at(Successful)
				return out
			}(),
		},
		"10.3.5: a mandatory IE is missing, to be rejected": {
			message: uplink(), change: without(ieNASPDU), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: ids(reject, ProcedureUplinkNASTransport, Ignore, missing(Reject, ieNASPDU)),
		},
		"10.3.5: a mandatory IE is missing, to be ignored": {
			message: uplink(), change: without(ieUserLocation), want: &UplinkNASTransport{UE: ue1, NAS: []byte{0x7e}},
		},
		"10.3.5: IEs are missing in a request that has a failure": {
			message: setupRequest(), change: all(without(ieGlobalRANNodeID), without(ieSupportedTA)), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			wantAnswer: &NGSetupFailure{Cause: ngapcause.AbstractSyntaxReject, Diagnostics: &CriticalityDiagnostics{
				IEs: []IEDiagnostics{missing(Reject, ieGlobalRANNodeID), missing(Reject, ieSupportedTA)},
			}},
		},
		"10.3.5: an IE on which sessions depend is missing": {
			message: &InitialContextSetupRequest{
				UE: ue1, AMBR: &AggregateBitRate{}, GUAMI: guami(), Sessions: setups(), Allowed: someSlices(), Security: capabilities(), Key: key(),
			},
			change: without(ieUEAggregateMaximumBitRate), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			wantAnswer: &InitialContextSetupFailure{UE: ue1, Cause: ngapcause.AbstractSyntaxReject, Diagnostics: &CriticalityDiagnostics{
				IEs: []IEDiagnostics{missing(Reject, ieUEAggregateMaximumBitRate)},
			}},
		},
		"10.3.6: IEs in the wrong order": {
			message: uplink(), change: swapped(0, 1), wantCause: ngapcause.FalselyConstructed, wantReport: ByErrorIndication,
			wantAnswer: ids(falsely, ProcedureUplinkNASTransport, Ignore),
		},
		"10.3.6: one that is not known between them does not matter": {
			message: uplink(), change: all(with(none, Ignore, "00"), swapped(2, 4)), wantCause: ngapcause.FalselyConstructed, wantReport: ByErrorIndication,
			wantAnswer: ids(falsely, ProcedureUplinkNASTransport, Ignore),
		},
		"10.3.6: an IE twice": {
			message: uplink(), change: twice(ieNASPDU), wantCause: ngapcause.FalselyConstructed, wantReport: ByErrorIndication,
			wantAnswer: ids(falsely, ProcedureUplinkNASTransport, Ignore),
		},
		"10.3.6: an IE twice in a request that has a failure": {
			message: setupRequest(), change: twice(ieRANNodeName), wantCause: ngapcause.FalselyConstructed, wantReport: ByFailure,
			wantAnswer: &NGSetupFailure{Cause: ngapcause.FalselyConstructed},
		},
		"10.3.6: an IE whose condition does not hold, in a request that has a failure": {
			message: &InitialContextSetupRequest{UE: ue1, GUAMI: guami(), Allowed: someSlices(), Security: capabilities(), Key: key()},
			change: func(ies []rawIE) []rawIE {
				_, of := taken(t, &PDUSessionResourceSetupRequest{UE: ue1, Sessions: setups(), AMBR: &AggregateBitRate{Uplink: 1, Downlink: 1}})
				return slices.Insert(ies, 2, of[slices.IndexFunc(of, func(e rawIE) bool { return e.id == ieUEAggregateMaximumBitRate })])
			},
			wantCause: ngapcause.FalselyConstructed, wantReport: ByFailure,
			wantAnswer: &InitialContextSetupFailure{UE: ue1, Cause: ngapcause.FalselyConstructed},
		},
		"10.3.6: what an IE has within it, and its condition does not hold": {
			message: &LocationReport{UE: ue1, Location: nrLocation()}, change: as(ieLocationReportingRequestType, "20 05"), // a direct report, and area 6 given up
			wantCause: ngapcause.FalselyConstructed, wantReport: ByErrorIndication,
			wantAnswer: ids(falsely, ProcedureLocationReport, Ignore),
		},
		"10.3.6: an IE whose condition does not hold, in a message that has no answer": {
			message: &HandoverCommand{UE: ue1, Container: []byte{1}}, change: func(ies []rawIE) []rawIE {
				return slices.Insert(ies, 3, rawIE{id: ieNASSecurityParameters, criticality: Reject, value: octets("01 09")})
			},
			wantCause: ngapcause.FalselyConstructed, wantReport: Locally,
		},
		"10.3.6: a response in the wrong order has failed": {
			message: &UEContextModificationResponse{UE: ue1}, change: swapped(0, 1), wantCause: ngapcause.FalselyConstructed, wantReport: Locally,
		},
		"10.2: a value ends too early": {
			message: uplink(), change: as(ieUserLocation, "50 00"), wantCause: ngapcause.TransferSyntax, wantReport: ByErrorIndication,
			wantAnswer: ids(syntax, ProcedureUplinkNASTransport, Ignore),
		},
		"10.2: a value is too long": {
			message: uplink(), change: as(ieNASPDU, "01 7e 00"), wantCause: ngapcause.TransferSyntax, wantReport: ByErrorIndication,
			wantAnswer: ids(syntax, ProcedureUplinkNASTransport, Ignore),
		},
		"10.2: a number is outside of its range": {
			// 32 bits of a gNB ID are 10 more than 22; this says 15 more.
			message: setupRequest(), change: as(ieGlobalRANNodeID, "00 99f907 78 ffffffffff"), wantCause: ngapcause.TransferSyntax, wantReport: ByErrorIndication,
			wantAnswer: &ErrorIndication{Cause: at(ngapcause.TransferSyntax), Diagnostics: &CriticalityDiagnostics{
				Procedure: at(ProcedureNGSetup), Triggering: at(Initiating), Criticality: at(Reject),
			}},
		},
		"10.5: what ends a procedure is told, and what was ignored beside it": {
			message: uplink(), change: all(with(none, Notify, "00"), without(ieNASPDU)), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: ids(reject, ProcedureUplinkNASTransport, Ignore, missing(Reject, ieNASPDU), unknown(Notify)),
		},
		"10.5: a fault of an Error Indication is never answered": {
			message: &ErrorIndication{AMF: at(ue1.AMF), Cause: at(ngapcause.SemanticError)}, change: with(none, Reject, "00"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: Locally,
		},
		"10.5: an Error Indication that cannot be read is never answered": {
			message: &ErrorIndication{Cause: at(ngapcause.SemanticError)}, change: as(ieCause, ""), wantCause: ngapcause.TransferSyntax, wantReport: Locally,
		},
		"10.3.1: a value of a later release, in an IE to be ignored": {
			message: setupRequest(), change: as(ieDefaultPagingDRX, "80"), want: &NGSetupRequest{Node: gnb(22), Name: "gNB", TAs: supported()},
		},
		"10.3.1: a value of a later release, in an IE to be rejected": {
			message: &HandoverRequired{UE: ue1, Target: HandoverTarget{Node: gnb(22), TAI: tai()}, Sessions: sessions(), Container: []byte{1}},
			// The second extension of Handover Type.
			change: as(ieHandoverType, "81"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			wantAnswer: &HandoverPreparationFailure{UE: ue1, Cause: ngapcause.AbstractSyntaxReject, Diagnostics: &CriticalityDiagnostics{
				IEs: []IEDiagnostics{{Criticality: Reject, ID: ieHandoverType, Error: NotUnderstood}},
			}},
		},
		"10.3.1: a name with characters that it may not have, in an IE to be ignored": {
			message: setupRequest(), change: as(ieRANNodeName, "0100 675f62"), want: &NGSetupRequest{Node: gnb(22), TAs: supported(), DRX: DRX128},
		},
		"10.3.1: an alternative of a later release, and the IE is to be ignored": {
			// A TNGF's location: alternative 3, one IE of ID 244, to be ignored.
			message: uplink(), change: as(ieUserLocation, "c0 00f4 40 03 010203"), want: &UplinkNASTransport{UE: ue1, NAS: []byte{0x7e}},
		},
		"10.3.1: an alternative of a later release, and the IE is to be rejected": {
			message: setupRequest(), change: as(ieGlobalRANNodeID, "c0 00f0 00 03 010203"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByFailure,
			wantAnswer: &NGSetupFailure{Cause: ngapcause.AbstractSyntaxReject, Diagnostics: &CriticalityDiagnostics{IEs: []IEDiagnostics{
				{Criticality: Reject, ID: 240, Error: NotUnderstood}, {Criticality: Reject, ID: ieGlobalRANNodeID, Error: NotUnderstood},
			}}},
		},
		"10.3.4.2: an extension that is not known, to be ignored": {
			message: &HandoverNotify{UE: ue1, Location: eutraLocation()},
			// NR without a time, one extension 4000 of one octet.
			change: as(ieUserLocation, "48 99f907 0000000100 99f907 000001 0000 0fa0 40 0100"),
			want:   &HandoverNotify{UE: ue1, Location: UserLocation{Kind: LocationNR, Cell: nrCell(), TAI: tai()}},
		},
		"10.3.4.2: an extension that is not known, to be ignored with a notice": {
			message:   &HandoverNotify{UE: ue1, Location: eutraLocation()},
			change:    as(ieUserLocation, "48 99f907 0000000100 99f907 000001 0000 0fa0 80 0100"),
			want:      &HandoverNotify{UE: ue1, Location: UserLocation{Kind: LocationNR, Cell: nrCell(), TAI: tai()}},
			wantCause: ngapcause.AbstractSyntaxNotify, wantReport: ByErrorIndication,
			wantAnswer: ids(notify, ProcedureHandoverNotification, Ignore, unknown(Notify)),
		},
		"fields of a later release behind those of a SEQUENCE": {
			message: &HandoverNotify{UE: ue1, Location: eutraLocation()},
			// Extended: one addition, which is there, of two octets.
			change: as(ieUserLocation, "60 99f907 0000000100 99f907 000001 01 02 abcd"),
			want:   &HandoverNotify{UE: ue1, Location: UserLocation{Kind: LocationNR, Cell: nrCell(), TAI: tai()}},
		},
		"10.3.4.2: an extension that is not known, to be rejected": {
			message: &AMFStatusIndication{GUAMIs: []UnavailableGUAMI{{GUAMI: guami()}}},
			// No option but extensions; the GUAMI without any; one extension 4000 of one octet.
			change: as(ieUnavailableGUAMI, "00 10 99f907 02 0043 0000 0fa0 00 0100"), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: func() Message {
				out := ids(reject, ProcedureAMFStatusIndication, Ignore, unknown(Reject))
				out.AMF, out.RAN = nil, nil
				return out
			}(),
		},
		"a criticality that the sender has changed is the one that counts": {
			message: uplink(), change: all(but(ieUserLocation, Reject), as(ieUserLocation, "c0 00f4 40 03 010203")), wantCause: ngapcause.AbstractSyntaxReject, wantReport: ByErrorIndication,
			wantAnswer: ids(reject, ProcedureUplinkNASTransport, Ignore, IEDiagnostics{Criticality: Reject, ID: ieUserLocation, Error: NotUnderstood}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, ies := taken(t, tc.message)
			b := together(h, tc.change(ies))
			got, fault := Read(b)
			if diff := cmp.Diff(tc.want, got, equal); diff != "" {
				t.Errorf("%x (-want +got):\n%s", b, diff)
			}
			if fault == nil {
				if tc.wantCause != 0 {
					t.Fatalf("%x has no fault", b)
				}
				return
			}
			if fault.Cause != tc.wantCause || fault.Report != tc.wantReport {
				t.Errorf("%v: %s, report %d; want %s, %d", fault, fault.Cause, fault.Report, tc.wantCause, tc.wantReport)
			}
			if (got == nil) != fault.Terminated {
				t.Errorf("%v: terminated is %t", fault, fault.Terminated)
			}
			answer := fault.Answer()
			if diff := cmp.Diff(tc.wantAnswer, answer, equal, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%v: answer (-want +got):\n%s", fault, diff)
			}
			if diff := cmp.Diff(tc.wantInResponse, fault.InResponse()); diff != "" {
				t.Errorf("%v: in the response (-want +got):\n%s", fault, diff)
			}
			readable(t, answer)
		})
	}
}

// readable: what is answered can be written, and read.
func readable(t testing.TB, answer Message) {
	t.Helper()
	if answer == nil {
		return
	}
	b, err := Write(answer)
	if err != nil {
		t.Fatal(err)
	}
	if _, fault := Read(b); fault != nil {
		t.Errorf("%x: %v", b, fault)
	}
}

// TS 38.413 10.2, 10.3.4.1 and 10.3.4.1A: what is wrong before there are IEs.
func TestFaultsOfTheEnvelope(t *testing.T) {
	diagnosed := func(p Procedure, o Outcome, c Criticality) *CriticalityDiagnostics {
		return &CriticalityDiagnostics{Procedure: &p, Triggering: &o, Criticality: &c}
	}
	for name, tc := range map[string]struct {
		octets     []byte
		wantCause  Cause
		wantAnswer Message
	}{
		"10.2: nothing":                        {nil, ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}},
		"10.2: one octet":                      {octets("00"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}},
		"10.2: too long":                       {make([]byte, MaxOctets+1), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}},
		"10.3.4.1A: a type of message of none": {octets("60 15 00 03 000000"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}},
		"10.3.4.1A: one of a later release":    {octets("80 15 00 03 000000"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}},
		"10.2: a criticality of none":          {octets("00 15 c0 03 000000"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax)}},
		"10.2: cut behind its head": {
			octets("00 15 00"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax), Diagnostics: diagnosed(ProcedureNGSetup, Initiating, Reject)},
		},
		"10.2: octets behind its end": {
			octets("00 17 00 03 000000 00"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax), Diagnostics: diagnosed(ProcedureOverloadStop, Initiating, Reject)},
		},
		"10.2: octets behind its IEs": {
			octets("00 17 00 04 000000 00"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax), Diagnostics: diagnosed(ProcedureOverloadStop, Initiating, Reject)},
		},
		"10.2: more IEs than there are octets": {
			octets("00 17 00 03 0000ff"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax), Diagnostics: diagnosed(ProcedureOverloadStop, Initiating, Reject)},
		},
		"10.2: far more IEs than any message has": {
			octets("00 17 00 03 00ffff"), ngapcause.TransferSyntax, &ErrorIndication{Cause: at(ngapcause.TransferSyntax), Diagnostics: diagnosed(ProcedureOverloadStop, Initiating, Reject)},
		},
		"10.2: cut behind the UE's names": {
			octets("00 2e 40 0f 000003 000a 00 02 0001 0055 00 02 0002"), ngapcause.TransferSyntax,
			&ErrorIndication{AMF: at(ue1.AMF), RAN: at(ue1.RAN), Cause: at(ngapcause.TransferSyntax), Diagnostics: diagnosed(ProcedureUplinkNASTransport, Initiating, Ignore)},
		},
		"10.3.4.1: a procedure that is not known, to be rejected": {
			octets("00 ff 00 03 000000"), ngapcause.AbstractSyntaxReject, &ErrorIndication{Cause: at(ngapcause.AbstractSyntaxReject), Diagnostics: diagnosed(255, Initiating, Reject)},
		},
		"10.3.4.1: a procedure that is not known, to be ignored with a notice": {
			octets("00 ff 80 03 000000"), ngapcause.AbstractSyntaxNotify, &ErrorIndication{Cause: at(ngapcause.AbstractSyntaxNotify), Diagnostics: diagnosed(255, Initiating, Notify)},
		},
		"10.3.4.1: a procedure that is not known, to be ignored": {octets("00 ff 40 03 000000"), ngapcause.AbstractSyntaxReject, nil},
		"10.3.4.1: NRPPa of a UE, to be rejected": {
			octets("00 32 00 0f 000002 000a 00 02 0001 0055 00 02 0002"), ngapcause.AbstractSyntaxReject,
			&ErrorIndication{AMF: at(ue1.AMF), RAN: at(ue1.RAN), Cause: at(ngapcause.AbstractSyntaxReject), Diagnostics: diagnosed(50, Initiating, Reject)},
		},
		"10.3.4.1A: a response that its procedure does not have": {
			octets("20 2e 40 03 000000"), ngapcause.FalselyConstructed,
			&ErrorIndication{Cause: at(ngapcause.FalselyConstructed), Diagnostics: diagnosed(ProcedureUplinkNASTransport, Successful, Ignore)},
		},
		"10.5: an Error Indication that is a response":  {octets("20 09 40 03 000000"), ngapcause.FalselyConstructed, nil},
		"10.5: an Error Indication that cannot be read": {octets("00 09 40 03 000001"), ngapcause.TransferSyntax, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, fault := Read(tc.octets)
			if got != nil || fault == nil || !fault.Terminated {
				t.Fatalf("%v, %v", got, fault)
			}
			if fault.Cause != tc.wantCause {
				t.Errorf("%v, want %s", fault, tc.wantCause)
			}
			answer := fault.Answer()
			if diff := cmp.Diff(tc.wantAnswer, answer, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%v: answer (-want +got):\n%s", fault, diff)
			}
			readable(t, answer)
		})
	}
}

func TestFaultsInWords(t *testing.T) {
	h, ies := taken(t, uplink())
	_, fault := Read(together(h, without(ieNASPDU)(ies)))
	if got, want := fault.Error(), "UplinkNASTransport: protocol: abstract syntax error (reject): NAS-PDU is missing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h, ies = taken(t, uplink())
	_, fault = Read(together(h, as(ieNASPDU, "05")(ies)))
	if got, want := fault.Error(), "UplinkNASTransport: protocol: transfer syntax error: NAS-PDU: it ends too early"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(fault, errTruncated) {
		t.Errorf("%v does not say why", fault)
	}
	if _, fault = Read(nil); fault.Error() != "protocol: transfer syntax error: it ends too early" {
		t.Errorf("%q", fault.Error())
	}
}

// A message that was cut anywhere, or has one octet too many, is none.
func TestCut(t *testing.T) {
	for _, s := range samples() {
		b, err := Write(s.message)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(b); n += 1 + len(b)/256 {
			if m, _ := Read(b[:n]); m != nil {
				t.Errorf("%s: %d octets of %d were read", s.name, n, len(b))
			}
		}
		if m, _ := Read(append(b, 0)); m != nil {
			t.Errorf("%s: an octet behind the end was not noticed", s.name)
		}
	}
}

// TS 38.413 10.4 and 10.6: what is right in itself, and cannot be acted on.
func TestNewErrorIndication(t *testing.T) {
	for name, tc := range map[string]struct {
		message Message
		cause   Cause
		want    *ErrorIndication
	}{
		"10.6: a UE that is not known": {uplink(), ngapcause.UnknownLocalUEID, &ErrorIndication{
			AMF: at(ue1.AMF), RAN: at(ue1.RAN), Cause: at(ngapcause.UnknownLocalUEID),
			Diagnostics: &CriticalityDiagnostics{Procedure: at(ProcedureUplinkNASTransport), Triggering: at(Initiating), Criticality: at(Ignore)},
		}},
		"10.4: not compatible with the state": {&UEContextReleaseComplete{UE: ue1}, ngapcause.MessageNotCompatibleWithReceiver, &ErrorIndication{
			AMF: at(ue1.AMF), RAN: at(ue1.RAN), Cause: at(ngapcause.MessageNotCompatibleWithReceiver),
			Diagnostics: &CriticalityDiagnostics{Procedure: at(ProcedureUEContextRelease), Triggering: at(Successful), Criticality: at(Reject)},
		}},
		"of no UE": {&OverloadStop{}, ngapcause.MessageNotCompatibleWithReceiver, &ErrorIndication{
			Cause:       at(ngapcause.MessageNotCompatibleWithReceiver),
			Diagnostics: &CriticalityDiagnostics{Procedure: at(ProcedureOverloadStop), Triggering: at(Initiating), Criticality: at(Reject)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewErrorIndication(tc.message, tc.cause)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			readable(t, got)
		})
	}
}
