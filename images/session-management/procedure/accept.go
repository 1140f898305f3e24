package procedure

import (
	"errors"

	"core5g.dev/core5g/images/session-management/configuration"
	"core5g.dev/core5g/images/session-management/n1"
	"core5g.dev/core5g/images/session-management/n2"
)

// accept is the PDU Session Establishment Accept (TS 24.501 8.3.2) that answers the message of the procedure under way.
func (t *turn) accept() ([]byte, error) {
	network := t.network()
	if network == nil {
		return nil, errors.New("the data network is gone")
	}
	m, err := n1.Decode(t.s.Procedure.Message)
	if err != nil {
		return nil, err
	}
	request, ok := m.(*n1.EstablishmentRequest)
	if !ok {
		return nil, errors.New("the message of the procedure is no request for a session")
	}
	a := n1.EstablishmentAccept{
		SessionID: t.s.ID, PTI: request.PTI, Type: t.s.Type, SSCMode: 1, AMBR: n1.AMBR(t.s.AMBR), Cause: onlyOne(request.Type, t.s.Type),
		IPv4: t.s.IPv4, InterfaceID: t.s.InterfaceID, SST: t.s.SST, SD: t.s.SD, DNN: t.s.DNN,
		Options: network.Configuration().Answer(request.Options, configuration.HasIPv4(t.s.Type), configuration.HasIPv6(t.s.Type)),
	}
	a.Rules, a.Flows = qosOf(t.s, network)
	if request.AlwaysOn || t.s.AlwaysOn {
		a.AlwaysOn = &t.s.AlwaysOn
	}
	return a.Encode(), nil
}

// onlyOne is the cause that tells a UE which asked for both versions that it has one (TS 24.501 6.4.1.3).
func onlyOne(asked, given n1.SessionType) n1.Cause {
	switch {
	case asked != n1.IPv4v6:
		return 0
	case given == n1.IPv4:
		return n1.CauseIPv4Only
	case given == n1.IPv6:
		return n1.CauseIPv6Only
	}
	return 0
}

// setupRequest is what an access network needs for the session (TS 38.413 9.3.4.1), a modification that is under way included: who answers this
// has answered that.
func (t *turn) setupRequest() ([]byte, error) {
	s := t.s
	if w := s.Wanted; w != nil {
		s = s.Clone()
		become(s, w, t.network())
	}
	// What is asked for twice may be answered by what it was the first time, from before another way was taken.
	t.s.Rerouted, t.s.Offered = t.s.Rerouted && t.s.Offered, true
	r := n2.SetupRequest{AMBR: &s.AMBR, Uplink: s.N3(), Type: s.Type}
	for _, f := range s.Flows {
		if !f.Refused && !f.Default {
			r.Flows = append(r.Flows, n2.QoSFlow{Flow: f})
		}
	}
	return r.Encode()
}

// transfer gives the AMF something for the UE or its access network.
func (t *turn) transfer(a AskTransfer) {
	a.AMF, a.SUPI, a.ID, a.SST, a.SD, a.Ref = t.s.AMF, t.s.SUPI, t.s.ID, t.s.SST, t.s.SD, t.s.Ref()
	t.do(a)
}
