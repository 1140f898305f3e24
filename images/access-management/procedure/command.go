package procedure

import (
	"core5g.dev/core5g/images/access-management/n1"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/ngapcause"
)

// Messages that a UE has to answer: each is sent again after 6 s, four times (TS 24.501 10.2: T3522, T3550, T3555, T3560, T3570), with another COUNT, and
// then given up, each in its way.

// command encodes a message; it is sent again until it is answered, where waits is true. false: it cannot be said.
func (t *turn) command(m n1.Message, waits bool) (plain []byte, ok bool) {
	plain, err := n1.Encode(m)
	if err != nil {
		t.out.Refused = err.Error()
		return nil, false
	}
	t.untold()
	t.s.Command = nil
	if waits {
		t.s.Command = &record.Command{Message: plain, Attempts: 1, Began: t.in.Now.UnixMilli()}
		t.due(dueCommand, commandTime)
	}
	return plain, true
}

// bid sends a message that the UE has to answer.
func (t *turn) bid(m n1.Message) {
	if plain, ok := t.command(m, true); ok {
		t.downlink(t.protect(plain))
	}
}

// commanded says whether the message that the UE has not answered is of that type.
func (t *turn) commanded(kind n1.MessageType) bool {
	if t.s.Command == nil {
		return false
	}
	is, ok := n1.TypeOf(t.s.Command.Message)
	return ok && is == kind
}

func (t *turn) answeredCommand() {
	t.s.Command = nil
	t.due(dueCommand, 0)
	t.heard()
}

// dropCommand that the UE has not answered, and will not.
func (t *turn) dropCommand() {
	if t.s.Command == nil {
		return
	}
	t.untold()
	t.s.Command = nil
	t.due(dueCommand, 0)
}

// untold: what a Configuration Update Command was to say the UE is told when it is back, the network's names as well as its slices. A 5G-GUTI is not: it comes by
// that, or by the one of before.
func (t *turn) untold() {
	switch m := t.configuration(); {
	case m == nil:
	case m.Allowed != nil:
		t.s.Behind, t.s.Untold, t.s.Names = true, true, 0
	case m.Zone != nil:
		t.s.Names = 0
	}
}

// configuration that the UE was told, and has not answered; nil: none.
func (t *turn) configuration() *n1.ConfigurationUpdateCommand {
	if !t.commanded(n1.ConfigurationUpdateCommandType) {
		return nil
	}
	m, err := n1.Decode(t.s.Command.Message, n1.Downlink)
	if err != nil {
		return nil
	}
	c, _ := m.(*n1.ConfigurationUpdateCommand)
	return c
}

func (t *turn) commandSilent() {
	c := t.s.Command
	if c == nil || t.s.N2 == nil {
		return
	}
	if c.Attempts >= commandAttempts {
		t.unanswered()
		return
	}
	c.Attempts++
	t.due(dueCommand, commandTime)
	if t.commanded(n1.SecurityModeCommandType) {
		t.downlink(t.protectComing(c.Message))
		return
	}
	t.downlink(t.protect(c.Message))
}

// unanswered: the UE has not answered, or has gone.
func (t *turn) unanswered() {
	kind, _ := n1.TypeOf(t.s.Command.Message)
	t.untold()
	t.s.Command = nil
	t.due(dueCommand, 0)
	switch kind {
	case n1.RegistrationAcceptType, n1.ConfigurationUpdateCommandType: // 5.5.1.2.8 c, 5.4.4.6 b: both 5G-GUTIs are the UE's until it has used one
		t.settled()
	case n1.DeregistrationRequestToUEType: // 5.5.2.3.5 a
		t.deregistrationAccepted()
	default: // 5.4.1.3.7 b, 5.4.2.7 b, 5.4.3.6 b
		if k := t.doing(); k == Registration || k == Service {
			t.over("the UE does not answer")
			if t.s.Phase != record.Registered {
				t.forget("the UE does not answer")
			}
		}
		if t.s != nil {
			t.release(ngapcause.NASUnspecified)
		}
	}
}
