package main

import (
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/free5gc/ngap"
	"github.com/free5gc/ngap/ngapType"
	"github.com/free5gc/sctp"
)

// uplink is an NGAP message of the UE with this RAN UE NGAP ID.
func uplink(t *testing.T, k kind, id int64) []byte {
	t.Helper()
	ranID := &ngapType.RANUENGAPID{Value: id}
	amfID := &ngapType.AMFUENGAPID{Value: 1000 + id}
	initiating := func(code int64) *ngapType.NGAPPDU {
		return &ngapType.NGAPPDU{Present: ngapType.NGAPPDUPresentInitiatingMessage, InitiatingMessage: &ngapType.InitiatingMessage{
			ProcedureCode: ngapType.ProcedureCode{Value: code}, Criticality: ngapType.Criticality{Value: 1},
		}}
	}
	successful := func(code int64) *ngapType.NGAPPDU {
		return &ngapType.NGAPPDU{Present: ngapType.NGAPPDUPresentSuccessfulOutcome, SuccessfulOutcome: &ngapType.SuccessfulOutcome{
			ProcedureCode: ngapType.ProcedureCode{Value: code},
		}}
	}
	var pdu *ngapType.NGAPPDU
	switch k {
	case initialRegistration:
		pdu = initiating(ngapType.ProcedureCodeInitialUEMessage)
		pdu.InitiatingMessage.Value.Present = ngapType.InitiatingMessagePresentInitialUEMessage
		m := &ngapType.InitialUEMessage{}
		for _, e := range []struct {
			id    int64
			value ngapType.InitialUEMessageIEsValue
		}{
			{ngapType.ProtocolIEIDRANUENGAPID, ngapType.InitialUEMessageIEsValue{Present: ngapType.InitialUEMessageIEsPresentRANUENGAPID, RANUENGAPID: ranID}},
			{ngapType.ProtocolIEIDNASPDU, ngapType.InitialUEMessageIEsValue{Present: ngapType.InitialUEMessageIEsPresentNASPDU, NASPDU: &ngapType.NASPDU{Value: []byte{0x7e, 0, 0x41, 0x79, 0, 1, 1}}}},
		} {
			m.ProtocolIEs.List = append(m.ProtocolIEs.List, ngapType.InitialUEMessageIEs{Id: ngapType.ProtocolIEID{Value: e.id}, Value: e.value})
		}
		pdu.InitiatingMessage.Value.InitialUEMessage = m
	case carried:
		pdu = initiating(ngapType.ProcedureCodeUplinkNASTransport)
		pdu.InitiatingMessage.Value.Present = ngapType.InitiatingMessagePresentUplinkNASTransport
		pdu.InitiatingMessage.Value.UplinkNASTransport = &ngapType.UplinkNASTransport{ProtocolIEs: ngapType.ProtocolIEContainerUplinkNASTransportIEs{List: []ngapType.UplinkNASTransportIEs{
			{Id: ngapType.ProtocolIEID{Value: ngapType.ProtocolIEIDAMFUENGAPID}, Value: ngapType.UplinkNASTransportIEsValue{Present: ngapType.UplinkNASTransportIEsPresentAMFUENGAPID, AMFUENGAPID: amfID}},
			{Id: ngapType.ProtocolIEID{Value: ngapType.ProtocolIEIDRANUENGAPID}, Value: ngapType.UplinkNASTransportIEsValue{Present: ngapType.UplinkNASTransportIEsPresentRANUENGAPID, RANUENGAPID: ranID}},
		}}}
	case contextSetUp:
		pdu = successful(ngapType.ProcedureCodeInitialContextSetup)
		pdu.SuccessfulOutcome.Value.Present = ngapType.SuccessfulOutcomePresentInitialContextSetupResponse
		pdu.SuccessfulOutcome.Value.InitialContextSetupResponse = &ngapType.InitialContextSetupResponse{ProtocolIEs: ngapType.ProtocolIEContainerInitialContextSetupResponseIEs{List: []ngapType.InitialContextSetupResponseIEs{
			{Id: ngapType.ProtocolIEID{Value: ngapType.ProtocolIEIDRANUENGAPID}, Value: ngapType.InitialContextSetupResponseIEsValue{Present: ngapType.InitialContextSetupResponseIEsPresentRANUENGAPID, RANUENGAPID: ranID}},
		}}}
	case sessionSetUp:
		pdu = successful(ngapType.ProcedureCodePDUSessionResourceSetup)
		pdu.SuccessfulOutcome.Value.Present = ngapType.SuccessfulOutcomePresentPDUSessionResourceSetupResponse
		pdu.SuccessfulOutcome.Value.PDUSessionResourceSetupResponse = &ngapType.PDUSessionResourceSetupResponse{ProtocolIEs: ngapType.ProtocolIEContainerPDUSessionResourceSetupResponseIEs{List: []ngapType.PDUSessionResourceSetupResponseIEs{
			{Id: ngapType.ProtocolIEID{Value: ngapType.ProtocolIEIDRANUENGAPID}, Value: ngapType.PDUSessionResourceSetupResponseIEsValue{Present: ngapType.PDUSessionResourceSetupResponseIEsPresentRANUENGAPID, RANUENGAPID: ranID}},
		}}}
	case gone:
		pdu = successful(ngapType.ProcedureCodeUEContextRelease)
		pdu.SuccessfulOutcome.Value.Present = ngapType.SuccessfulOutcomePresentUEContextReleaseComplete
		pdu.SuccessfulOutcome.Value.UEContextReleaseComplete = &ngapType.UEContextReleaseComplete{ProtocolIEs: ngapType.ProtocolIEContainerUEContextReleaseCompleteIEs{List: []ngapType.UEContextReleaseCompleteIEs{
			{Id: ngapType.ProtocolIEID{Value: ngapType.ProtocolIEIDRANUENGAPID}, Value: ngapType.UEContextReleaseCompleteIEsValue{Present: ngapType.UEContextReleaseCompleteIEsPresentRANUENGAPID, RANUENGAPID: ranID}},
		}}}
	}
	message, err := ngap.Encoder(*pdu)
	if err != nil {
		t.Fatal(err)
	}
	return message
}

func TestUplinkMessagesAreKnown(t *testing.T) {
	for _, want := range []kind{initialRegistration, carried, contextSetUp, sessionSetUp, gone} {
		if got, id := look(uplink(t, want, 77)); got != want || id != 77 {
			t.Errorf("kind %d of UE 77 is seen as %d of UE %d", want, got, id)
		}
	}
	for what, message := range map[string][]byte{"nothing": nil, "an octet": {0}, "a broken message": {0, 15, 0, 200}, "an NG Setup Request": {0, 21, 0, 4, 0, 0, 0, 0}} {
		if got, _ := look(message); got != other {
			t.Errorf("%s is seen as %d", what, got)
		}
	}
}

func TestInitialRegistrationsAreTold(t *testing.T) {
	for nas, want := range map[string]bool{
		"\x7e\x00\x41\x79\x00\x01\x01":                         true,
		"\x7e\x01\x01\x02\x03\x04\x05\x7e\x00\x41\x79\x00\x01": true,
		"\x7e\x00\x41\x7a\x00\x01\x01":                         false, // mobility registration update
		"\x7e\x00\x41\x7b\x00\x01\x01":                         false, // periodic registration update
		"\x7e\x00\x41\x7c\x00\x01\x01":                         false, // emergency registration
		"\x7e\x00\x4c\x10\x00\x07\xf4":                         false, // service request
		"\x7e\x02\x01\x02\x03\x04\x05\x7e\x00\x41\x79\x00\x01": false, // ciphered
		"\x7e\x00\x41": false,
		"":             false,
	} {
		if got := isInitialRegistration([]byte(nas)); got != want {
			t.Errorf("% x: %v", nas, got)
		}
	}
}

// gate is an admission whose AMF writes down what it gets.
type gate struct {
	*admission
	t     *testing.T
	clock time.Time
	got   []int64
}

func newGate(t *testing.T) *gate {
	g := &gate{t: t, clock: time.Unix(1000, 0)}
	g.admission = newAdmission(func(_ net.Conn, message []byte) {
		if k, id := look(message); k == initialRegistration {
			g.got = append(g.got, id)
		}
	}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	g.now = func() time.Time { return g.clock }
	g.spawn = func(f func()) { f() }
	return g
}

func (g *gate) say(k kind, ids ...int64) {
	g.t.Helper()
	for _, id := range ids {
		g.handle(nil, uplink(g.t, k, id))
	}
}

// want compares the registrations that the AMF has got.
func (g *gate) want(what string, ids ...int64) {
	g.t.Helper()
	if !slices.Equal(g.got, ids) {
		g.t.Fatalf("%s: the AMF got %v, want %v", what, g.got, ids)
	}
}

// ngapHandler is laid out as the AMF's, which cannot be named.
type ngapHandler struct {
	message func(net.Conn, []byte)
	_       func(net.Conn, sctp.Notification)
	_       func(net.Conn)
}

//go:linkname receive github.com/free5gc/amf/internal/ngap/service.dispatchToWorkerPool
func receive(conn net.Conn, message []byte, fallback ngapHandler)

func TestTheAMFHandsItsMessagesToTheAdmission(t *testing.T) {
	got := make(chan string, 1)
	initScheduler(1, 1, func(_ net.Conn, message []byte) { got <- string(message) })
	// As the AMF's own start does, later.
	initScheduler(1, 1, func(net.Conn, []byte) { got <- "the AMF's own handler" })
	receive(nil, []byte("a message"), ngapHandler{message: func(net.Conn, []byte) { got <- "no scheduler" }})
	if answer := <-got; answer != "a message" {
		t.Errorf("handled by %s", answer)
	}
}

func TestTheLatestGoesInWhenAPlaceIsFree(t *testing.T) {
	g := newGate(t)
	g.limit = 2
	g.say(initialRegistration, 1, 2, 3, 4, 5)
	g.want("two places", 1, 2)
	g.say(carried, 1, 2)
	g.say(contextSetUp, 1)
	g.want("a registration without its session keeps the place", 1, 2)
	g.say(sessionSetUp, 1)
	g.want("its session frees it", 1, 2, 5)
	g.say(gone, 2)
	g.want("a refused one too", 1, 2, 5, 4)
	g.clock = g.clock.Add(waitLimit)
	g.sweep()
	g.say(gone, 4, 5)
	g.want("who has waited for too long is not let in", 1, 2, 5, 4)
	if g.dropped != 1 || len(g.waiting) != 0 {
		t.Errorf("%d dropped, %d waiting", g.dropped, len(g.waiting))
	}
}

func TestTheSilentLoseTheirPlace(t *testing.T) {
	g := newGate(t)
	g.limit = 1
	g.say(initialRegistration, 1, 2)
	g.clock = g.clock.Add(silenceLimit - time.Second)
	g.say(carried, 1)
	g.clock = g.clock.Add(silenceLimit - time.Second)
	g.sweep()
	g.want("it speaks", 1)
	g.clock = g.clock.Add(time.Second)
	g.sweep()
	g.want("it is silent", 1, 2)
	if g.limit != 1 {
		t.Errorf("limit %v for the silence of a UE", g.limit)
	}
}

func TestTheLimitFollowsTheCore(t *testing.T) {
	g := newGate(t)
	for id := range int64(firstAdmitted) {
		g.say(initialRegistration, id)
		g.say(contextSetUp, id)
		g.say(sessionSetUp, id)
	}
	if g.limit < firstAdmitted+0.9 || g.limit > firstAdmitted+1 {
		t.Errorf("limit %v after %d registrations, want about %d", g.limit, firstAdmitted, firstAdmitted+1)
	}
	for id := range int64(10) {
		g.say(initialRegistration, 100+id)
	}
	for range int(t3510 / time.Second) {
		g.clock = g.clock.Add(time.Second)
		for id := range int64(10) {
			g.say(carried, 100+id)
		}
	}
	before := g.limit
	g.sweep()
	if g.limit != before/2 || len(g.inside) != 0 {
		t.Errorf("limit %v after ten that were late together, was %v; %d are inside", g.limit, before, len(g.inside))
	}
}

func TestAPanicEndsOneMessage(t *testing.T) {
	var log strings.Builder
	g := newGate(t)
	g.limit = 1
	g.log = slog.New(slog.NewTextHandler(&log, nil))
	g.next = func(net.Conn, []byte) { panic("nil pointer") }
	g.say(initialRegistration, 1)
	g.say(gone, 1)
	if !strings.Contains(log.String(), "nil pointer") || len(g.inside) != 0 {
		t.Errorf("log %q, %d inside", log.String(), len(g.inside))
	}
}

// A storm: far more UEs than the core can serve in T3510, each of which comes anew when it has got nothing.
func TestStorm(t *testing.T) {
	const ues, perSecond = 800, 5
	g := newGate(t)
	due := make([]int, ues) // second of the next attempt
	began := map[int64]int{}
	in, second := 0, 0
	for ; in < ues && second < 3600; second++ {
		g.clock = g.clock.Add(time.Second)
		for ue, at := range due {
			if at == second {
				// The attempts of a UE differ in their RAN UE NGAP ID.
				id := int64(second*ues + ue)
				began[id], due[ue] = second, second+16
				g.say(initialRegistration, id)
			}
		}
		g.sweep()
		// The core serves whom it has got, in turn; who has given up meanwhile is lost work.
		for range perSecond {
			if len(g.got) == 0 {
				break
			}
			id := g.got[0]
			g.got = g.got[1:]
			if second-began[id] >= 15 {
				g.say(gone, id)
				continue
			}
			g.say(carried, id)
			g.say(contextSetUp, id)
			g.say(sessionSetUp, id)
			due[id%ues] = -1
			in++
		}
	}
	if in != ues || second > 2*ues/perSecond {
		t.Errorf("%d of %d UEs are in after %d s", in, ues, second)
	}
	t.Logf("%d UEs in after %d s", in, second)
}
