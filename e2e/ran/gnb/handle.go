package gnb

import (
	"context"
	"fmt"

	"github.com/free5gc/ngap/ngapType"

	"core5g.dev/core5g/e2e/ran/n2"
)

// handle takes one message of the AMF.
func (g *GNB) handle(ctx context.Context, conn n2.Conn, m any) {
	var err error
	switch m := m.(type) {
	case *ngapType.DownlinkNASTransport:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			c.deliver(n2.Find[ngapType.NASPDU](l))
		}
	case *ngapType.InitialContextSetupRequest:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			err = g.initialContextSetup(c, m)
		}
	case *ngapType.PDUSessionResourceSetupRequest:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			err = g.sessionSetup(c, m)
		}
	case *ngapType.PDUSessionResourceModifyRequest:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			err = g.sessionModify(c, m)
		}
	case *ngapType.PDUSessionResourceReleaseCommand:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			err = g.sessionRelease(c, m)
		}
	case *ngapType.PDUSessionResourceModifyConfirm:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			g.answered(c, modifyIndication, m)
		}
	case *ngapType.PathSwitchRequestAcknowledge:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			g.answered(c, pathSwitch, m)
		}
	case *ngapType.PathSwitchRequestFailure:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			g.answered(c, pathSwitch, m)
		}
	case *ngapType.HandoverRequest:
		err = g.handoverRequest(conn, m)
	case *ngapType.HandoverCommand:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			g.answered(c, handoverPreparation, m)
		}
	case *ngapType.HandoverPreparationFailure:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			g.answered(c, handoverPreparation, m)
		}
	case *ngapType.HandoverCancelAcknowledge:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			g.answered(c, handoverCancel, m)
		}
	case *ngapType.DownlinkRANStatusTransfer:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			c.statusTransfers.Add(1)
		}
	case *ngapType.LocationReportingControl:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			err = g.locationReporting(c, n2.Find[ngapType.LocationReportingRequestType](l))
		}
	case *ngapType.UEContextModificationRequest:
		l := m.ProtocolIEs.List
		if c := g.connection(conn, n2.Find[ngapType.AMFUENGAPID](l), n2.Find[ngapType.RANUENGAPID](l)); c != nil {
			err = g.contextModification(c)
		}
	case *ngapType.UEContextReleaseCommand:
		err = g.contextRelease(conn, m)
	case *ngapType.Paging:
		g.page(m)
	case *ngapType.NGReset:
		err = g.reset(conn, m)
	case *ngapType.AMFConfigurationUpdate:
		err = g.configured(ctx, conn, m)
	case *ngapType.RANConfigurationUpdateAcknowledge, *ngapType.RANConfigurationUpdateFailure: // it was asked for too late
	case *ngapType.ErrorIndication:
		cause := n2.CauseText(n2.Find[ngapType.Cause](m.ProtocolIEs.List))
		g.log.Warn("NGAP error indication", "cause", cause)
		g.setError(fmt.Errorf("error indication from the AMF: %s", cause))
	case *ngapType.OverloadStart:
		g.overloadStart(m)
	case *ngapType.OverloadStop:
		g.overloadIs(overload{})
	case *ngapType.AMFStatusIndication:
		g.log.Info("NGAP message noted", "type", fmt.Sprintf("%T", m))
	default:
		g.log.Warn("NGAP message not handled", "type", fmt.Sprintf("%T", m))
	}
	if err != nil {
		g.log.Warn("NGAP answer not sent", "err", err)
	}
}

// connection finds the UE that a message is for; an unknown one is answered with an error indication
// (TS 38.413 10.6).
func (g *GNB) connection(conn n2.Conn, amfID *ngapType.AMFUENGAPID, ranID *ngapType.RANUENGAPID) *Connection {
	if amfID == nil || ranID == nil {
		return nil
	}
	c := g.byRANID(ranID.Value)
	if c == nil {
		g.log.Warn("NGAP message for an unknown UE", "ran_ue_ngap_id", ranID.Value)
		e := &ngapType.ErrorIndication{}
		ies := &e.ProtocolIEs.List
		n2.Add(ies, n2.Ignore, amfID)
		n2.Add(ies, n2.Ignore, ranID)
		n2.Add(ies, n2.Ignore, n2.RadioNetworkCause(ngapType.CauseRadioNetworkPresentUnknownLocalUENGAPID))
		b, err := n2.Initiating(n2.Ignore, e)
		_ = g.send(conn, streamUE, b, err)
		return nil
	}
	c.setAMF(amfID.Value)
	c.follow(conn)
	return c
}

// answered hands an answer to the procedure that waits for it.
func (g *GNB) answered(c *Connection, procedure string, m any) {
	if !c.answered(procedure, m) {
		g.log.Warn("NGAP answer that nobody waits for", "procedure", procedure, "type", fmt.Sprintf("%T", m))
	}
}

func (c *Connection) deliver(pdu *ngapType.NASPDU) {
	if pdu != nil && len(pdu.Value) > 0 {
		c.ue.NAS(c, pdu.Value)
	}
}

func (g *GNB) contextModification(c *Connection) error {
	m := &ngapType.UEContextModificationResponse{}
	ies := &m.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	b, err := n2.Successful(n2.Reject, m)
	return c.say(b, err)
}

// contextRelease ends a connection (TS 38.413 8.3.3).
func (g *GNB) contextRelease(conn n2.Conn, m *ngapType.UEContextReleaseCommand) error {
	ids := n2.Find[ngapType.UENGAPIDs](m.ProtocolIEs.List)
	cause := n2.Find[ngapType.Cause](m.ProtocolIEs.List)
	var c *Connection
	switch {
	case ids == nil:
		return fmt.Errorf("UE context release command without UE NGAP IDs")
	case ids.UENGAPIDPair != nil:
		c = g.connection(conn, &ids.UENGAPIDPair.AMFUENGAPID, &ids.UENGAPIDPair.RANUENGAPID)
	case ids.AMFUENGAPID != nil:
		c = g.byAMFID(ids.AMFUENGAPID.Value)
	}
	if c == nil {
		return nil
	}
	psis := c.sessions()
	g.forget(c)

	done := &ngapType.UEContextReleaseComplete{}
	ies := &done.ProtocolIEs.List
	n2.Add(ies, n2.Ignore, &ngapType.AMFUENGAPID{Value: c.amf()})
	n2.Add(ies, n2.Ignore, &ngapType.RANUENGAPID{Value: c.ranID})
	n2.Add(ies, n2.Ignore, g.location())
	if len(psis) > 0 {
		list := &ngapType.PDUSessionResourceListCxtRelCpl{}
		for _, psi := range psis {
			list.List = append(list.List, ngapType.PDUSessionResourceItemCxtRelCpl{PDUSessionID: ngapType.PDUSessionID{Value: int64(psi)}})
		}
		n2.Add(ies, n2.Reject, list)
	}
	b, err := n2.Successful(n2.Reject, done)
	err = c.say(b, err)
	c.end(n2.CauseText(cause))
	return err
}

// page calls the UE that the message names, if it is here (TS 38.413 8.5.1).
func (g *GNB) page(m *ngapType.Paging) {
	id := n2.Find[ngapType.UEPagingIdentity](m.ProtocolIEs.List)
	if id == nil || id.FiveGSTMSI == nil {
		return
	}
	want, ok := readTMSI(id.FiveGSTMSI)
	if !ok {
		return
	}
	for _, ue := range g.allUEs() {
		if got, ok := ue.TMSI(); ok && got == want {
			ue.Paged()
			return
		}
	}
	g.log.Debug("paging for a UE that is not in this cell")
}

// reset drops the connections that the AMF names, or all (TS 38.413 8.7.4).
func (g *GNB) reset(conn n2.Conn, m *ngapType.NGReset) error {
	typ := n2.Find[ngapType.ResetType](m.ProtocolIEs.List)
	ack := &ngapType.NGResetAcknowledge{}
	var gone []*Connection
	if typ != nil && typ.PartOfNGInterface != nil {
		for _, item := range typ.PartOfNGInterface.List {
			var c *Connection
			switch {
			case item.RANUENGAPID != nil:
				c = g.byRANID(item.RANUENGAPID.Value)
			case item.AMFUENGAPID != nil:
				c = g.byAMFID(item.AMFUENGAPID.Value)
			}
			if c != nil {
				gone = append(gone, c)
			}
		}
		n2.Add(&ack.ProtocolIEs.List, n2.Ignore, typ.PartOfNGInterface)
	} else {
		g.mu.Lock()
		for _, c := range g.connections {
			gone = append(gone, c)
		}
		g.mu.Unlock()
	}
	for _, c := range gone {
		g.forget(c)
		c.end("NG Reset")
	}
	b, err := n2.Successful(n2.Reject, ack)
	return g.send(conn, streamCommon, b, err)
}
