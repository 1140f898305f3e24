package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/access-management/namf"
	"core5g.dev/core5g/images/access-management/procedure"
	"core5g.dev/core5g/images/access-management/record"
	"core5g.dev/core5g/images/access-management/runner"
	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/nf/ts29571"
)

// Subscriptions to the AMF's status (runner/statuses.go) are shared out to shards by where they are told, so that who asks twice has one, and the shard's
// number begins the identifier: any pod finds its holder.

var _ namf.Subscriptions = requests{}

const pathStatuses = "/namf-comm/v1/subscriptions"

// statusSeparator is behind the shard in an identifier.
const statusSeparator = "-"

// statusName names a subscription, of that shard.
func statusName(shard uint16, s *namf.StatusSubscription) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %v", s.URI, s.GUAMIs)
	return fmt.Sprintf("%d%s%016x", shard, statusSeparator, h.Sum64())
}

// shardOfURI is that of the subscriptions that are told there.
func (p *Pod) shardOfURI(uri string) uint16 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, uri)
	return uint16(h.Sum32()%uint32(p.Shards)) + 1
}

// shardOfStatus is that in an identifier; 0: it is none that this AMF has given.
func (p *Pod) shardOfStatus(id string) uint16 {
	number, _, _ := strings.Cut(id, statusSeparator)
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n > uint64(p.Shards) {
		return 0
	}
	return uint16(n)
}

// statusShardIn a request; 0: it is about no such subscription, or one that there cannot be.
func (p *Pod) statusShardIn(r *http.Request) uint16 {
	if id, is := strings.CutPrefix(r.URL.Path, pathStatuses+"/"); is {
		return p.shardOfStatus(id)
	}
	if r.Method != http.MethodPost || r.URL.Path != pathStatuses {
		return 0
	}
	var body struct {
		URI string `json:"amfStatusUri"`
	}
	if text, _ := sbi.Peek(r, mostPassed); json.Unmarshal(text, &body) != nil || body.URI == "" { // who answers says what is wrong
		return 0
	}
	return p.shardOfURI(body.URI)
}

// SubscribeStatus implements namf.Subscriptions.
func (r requests) SubscribeStatus(ctx context.Context, s *namf.StatusSubscription) (string, error) {
	n := r.pod.shardOfURI(s.URI)
	id := statusName(n, s)
	return id, r.keepStatus(ctx, n, id, s, false)
}

// ReplaceStatus implements namf.Subscriptions.
func (r requests) ReplaceStatus(ctx context.Context, id string, s *namf.StatusSubscription) error {
	return r.keepStatus(ctx, r.pod.shardOfStatus(id), id, s, true)
}

func (r requests) keepStatus(ctx context.Context, n uint16, id string, s *namf.StatusSubscription, replaces bool) error {
	if len(s.URI) > mostURI || len(s.GUAMIs) > record.MostGUAMIs {
		return notServed("write an amfStatusUri of at most %d characters, and a guamiList of at most %d", mostURI, record.MostGUAMIs)
	}
	var wanted []record.GUAMI
	for _, g := range s.GUAMIs {
		amf, err := strconv.ParseUint(g.AMFID, 16, 24)
		if err != nil {
			return notServed("guamiList: amfId %.16q: write six hexadecimal digits", g.AMFID)
		}
		wanted = append(wanted, record.GUAMI{PLMN: g.PLMN.MCC + g.PLMN.MNC, AMF: uint32(amf)})
	}
	w, serves := procedure.NewStatusWatch(id, s.URI, wanted, r.pod.Settings())
	if !serves {
		return notServed("guamiList: this AMF has none of them: write those with amfId %s of its PLMNs, or leave it out", guami(r.pod.Settings()).AMFID)
	}
	return r.atStatus(ctx, n, func(x *runner.Runner, done func(error)) { x.KeepStatus(w, replaces, done) })
}

// UnsubscribeStatus implements namf.Subscriptions.
func (r requests) UnsubscribeStatus(ctx context.Context, id string) error {
	return r.atStatus(ctx, r.pod.shardOfStatus(id), func(x *runner.Runner, done func(error)) { x.EndStatus(id, done) })
}

// atStatus does something at the runner of a shard, and waits until it is written.
func (r requests) atStatus(ctx context.Context, n uint16, do func(x *runner.Runner, done func(error))) error {
	if n == 0 {
		return &namf.Refused{Cause: namf.SubscriptionNotFound, Detail: runner.ErrNoStatus.Error()}
	}
	s := r.pod.shard(n)
	if s == nil {
		return r.pod.movesTo(ctx, n)
	}
	came, err := inLoop(ctx, s, func(answer func(error)) { do(s.runner, answer) })
	switch {
	case err != nil, came == nil:
		return err
	case errors.Is(came, runner.ErrNoStatus):
		return &namf.Refused{Cause: namf.SubscriptionNotFound, Detail: came.Error()}
	case errors.Is(came, runner.ErrStatuses):
		return &namf.Refused{Cause: namf.InsufficientResources, Detail: came.Error()}
	}
	return &namf.Refused{Cause: namf.NFCongestion, Detail: came.Error(), RetryAfter: time.Second}
}

// statusHeard: TS 29.518 5.2.2.5.3.
func (s *Shard) statusHeard(ctx context.Context, e procedure.AskStatusHeard) procedure.Event {
	change := &namf.StatusChange{}
	if len(e.Gone) > 0 {
		change.Statuses = append(change.Statuses, namf.Status{GUAMIs: guamis(e.Gone)})
	}
	if len(e.Back) > 0 {
		change.Statuses = append(change.Statuses, namf.Status{GUAMIs: guamis(e.Back), Available: true})
	}
	err := s.pod.Callbacks.NotifyStatus(ctx, e.URI, change)
	out := procedure.StatusHeard{}
	if out.Outcome, out.Cause = outcome(err); err != nil {
		s.complain("who subscribed to the AMF's status does not take it", err, "uri", e.URI)
	}
	var refused *sbi.Refused
	out.Nobody = errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusGone)
	return out
}

func guamis(list []record.GUAMI) (out []ts29571.GUAMI) {
	for _, g := range list {
		out = append(out, ts29571.GUAMI{PLMN: plmnOf(g.PLMN), AMFID: fmt.Sprintf("%06x", g.AMF)})
	}
	return out
}

// Nobody is there who would have the messages of UEs, or send some to gNBs: no LMF, no SMSF, no cell broadcast centre.
var errNoMessages = &namf.Refused{Cause: namf.NotImplemented, Detail: "subscriptions to N1 and N2 messages, and N2 messages of no UE, are not served"}

// SubscribeMessages implements namf.Subscriptions.
func (requests) SubscribeMessages(context.Context, string, *namf.MessageSubscription) (string, error) {
	return "", errNoMessages
}

// UnsubscribeMessages implements namf.Subscriptions.
func (requests) UnsubscribeMessages(context.Context, string, string) error {
	return &namf.Refused{Cause: namf.SubscriptionNotFound, Detail: "nobody has subscribed to messages"}
}

// TransferNonUE implements namf.Subscriptions.
func (requests) TransferNonUE(context.Context, *namf.NonUE) (*namf.NonUETransferred, error) {
	return nil, errNoMessages
}

// SubscribeNonUE implements namf.Subscriptions.
func (requests) SubscribeNonUE(context.Context, *namf.MessageSubscription) (string, error) {
	return "", errNoMessages
}

// UnsubscribeNonUE implements namf.Subscriptions.
func (requests) UnsubscribeNonUE(context.Context, string) error {
	return &namf.Refused{Cause: namf.SubscriptionNotFound, Detail: "nobody has subscribed to messages"}
}
