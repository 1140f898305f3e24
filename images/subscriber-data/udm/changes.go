package udm

// What has changed (TS 29.503 5.2.2.5): whoever sees a change of an object says whose data it may be, and what subscribers
// of these data were told last is compared with what they would be told now. So nobody hears of a change that is none, and
// changes that follow each other are told once. A subscriber that is deleted or barred has no data any more, and the AMF that
// serves it is told to deregister it (5.3.2.3.2), where AMFs do that.
//
// What was told last is kept with the subscription, as digests, and written when the consumer has answered. One that does not answer is told again whenever
// everything is looked at. Of several replicas one tells (teller.go): where it dies, the next compares everything, and what was not told is.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/records"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

// lookUpLimit is for directory and records of one subscriber, walkLimit for those of all, and lookUpPause the time before one that
// did not answer is asked again.
const (
	lookUpLimit = 3 * time.Second
	walkLimit   = 5 * time.Minute
	lookUpPause = time.Second
)

// sdmSubscription is an SdmSubscription (TS 29.503 6.1.6.2.3).
type sdmSubscription struct {
	// Callback is "" where nobody is to be told.
	Callback string `json:"callback,omitempty"`
	// Resources are the URIs that are monitored, as they were written, by their last element.
	Resources map[string]string    `json:"resources,omitempty"`
	SNSSAI    *subscription.SNSSAI `json:"snssai,omitempty"`
	DNN       string               `json:"dnn,omitempty"`
	Expires   time.Time            `json:"expires,omitzero"`
	// Seen are the digests of what was told last; of data that are not there, there is none.
	Seen map[string][]byte `json:"seen,omitempty"`

	// features are those that the consumer has, nil where it does not say; immediate: it wants the data with the answer.
	features  *uint64
	immediate bool
}

// readSubscription reads and checks an SdmSubscription.
func readSubscription(c sbi.Content) (*sdmSubscription, error) {
	if _, err := sbi.Mandatory[sbi.Text](c, "nfInstanceId"); err != nil {
		return nil, err
	}
	var s sdmSubscription
	var err error
	if s.Callback, _, err = sbi.Optional[string](c, "callbackReference"); err != nil {
		return nil, err
	}
	if s.Callback != "" {
		if _, err := sbi.Mandatory[sbi.CallbackURI](c, "callbackReference"); err != nil {
			return nil, err
		}
	}
	monitored, _, err := sbi.Optional[[]sbi.Text](c, "monitoredResourceUris")
	if err != nil {
		return nil, err
	}
	s.Resources = make(map[string]string, len(monitored))
	for _, uri := range monitored {
		s.Resources[path.Base(string(uri))] = string(uri)
	}
	if _, _, err := sbi.Optional[subscription.PLMN](c, "plmnId"); err != nil {
		return nil, err
	}
	snssai, there, err := sbi.Optional[subscription.SNSSAI](c, "singleNssai")
	if err != nil {
		return nil, err
	}
	if there {
		s.SNSSAI = &snssai
	}
	if s.DNN, _, err = sbi.Optional[string](c, "dnn"); err != nil {
		return nil, err
	}
	if s.Expires, _, err = sbi.Optional[time.Time](c, "expires"); err != nil {
		return nil, err
	}
	return &s, s.readFeatures(c)
}

// immediateReport is the feature of that name of Nudm_SDM (TS 29.503 6.1.8): the second, of whose digits the last has four.
const immediateReport = 1 << 1

// readFeatures reads what the consumer can do (TS 29.571 5.2.2), and whether it wants the data with the answer.
func (w *sdmSubscription) readFeatures(c sbi.Content) error {
	features, there, err := sbi.Optional[string](c, "supportedFeatures")
	if err != nil {
		return err
	}
	if there {
		known, err := strconv.ParseUint("0"+features[max(0, len(features)-8):], 16, 64)
		if err != nil {
			return sbi.BadRequest("OPTIONAL_IE_INCORRECT", "supportedFeatures: write hexadecimal digits")
		}
		w.features = &known
	}
	wants, _, err := sbi.Optional[bool](c, "immediateReport")
	w.immediate = wants && w.features != nil && *w.features&immediateReport != 0
	return err
}

// report has the data that a subscription is of, as they are now, but those that are not there. What nssai has, amData has.
func (w *sdmSubscription) report(s subscription.Subscriber) subscriptionDataSets {
	var out subscriptionDataSets
	if s.Barred {
		return out
	}
	for name := range w.Resources {
		switch name {
		case "am-data", "nssai":
			data := accessAndMobility(s)
			out.AM = &data
		case "smf-select-data":
			data := smfSelection(s)
			out.SMFSel = &data
		case "sm-data":
			out.SM = sessionManagement(s, w.SNSSAI, w.DNN)
		}
	}
	return out
}

// digestSize is enough to tell one content from the one before.
const digestSize = 12

// digests are those of the data that a subscription is of, as they are now. All replicas come to the same.
func (w *sdmSubscription) digests(s subscription.Subscriber) map[string][]byte {
	out := make(map[string][]byte)
	if s.Barred {
		return out
	}
	for name := range w.Resources {
		var data any
		switch name {
		case "am-data":
			data = accessAndMobility(s)
		case "nssai":
			data = subscribedNSSAI(s)
		case "smf-select-data":
			data = smfSelection(s)
		case "sm-data":
			sessions := sessionManagement(s, w.SNSSAI, w.DNN)
			if len(sessions) == 0 {
				continue
			}
			data = sessions
		default:
			continue
		}
		if raw, err := json.Marshal(data); err == nil { // of texts and numbers
			digest := sha256.Sum256(raw)
			out[name] = digest[:digestSize]
		}
	}
	return out
}

// Changed says that the data of a SUPI may have changed, or with "" those of all. It does not wait.
func (u *UDM) Changed(supi string) {
	u.seen.Add(1)
	if !u.tells() {
		return // who does has seen it, too
	}
	u.changes.Lock()
	defer u.changes.Unlock()
	u.again(supi)
	u.look(supi)
}

// look at a SUPI soon; the caller holds the lock.
func (u *UDM) look(supi string) {
	u.pending[supi] = true
	if !u.checking {
		u.checking = true
		go u.check()
	}
}

// again is how long after a change it is looked at once more: another replica may hear of it later than this one, and take a
// subscription meanwhile from what it knew.
const again = 5 * time.Second

// again has a SUPI looked at once more; the caller holds the lock.
func (u *UDM) again(supi string) {
	u.young[supi] = true
	if u.waiting {
		return
	}
	u.waiting = true
	time.AfterFunc(again, u.lookAgain)
}

// lookAgain at what changed at least a while ago.
func (u *UDM) lookAgain() {
	u.changes.Lock()
	defer u.changes.Unlock()
	for supi := range u.old {
		u.look(supi)
	}
	u.old, u.young = u.young, make(map[string]bool)
	if u.waiting = len(u.old) > 0; u.waiting {
		time.AfterFunc(again, u.lookAgain)
	}
}

// changedSince looks at a SUPI again where something has changed between its look-up and its being entered: nobody would hear
// of that otherwise.
func (u *UDM) changedSince(seen uint64, supi string) {
	if u.seen.Load() != seen {
		u.Changed(supi)
	}
}

// check looks at what is pending until nothing is.
func (u *UDM) check() {
	for {
		u.changes.Lock()
		pending := u.pending
		u.pending = make(map[string]bool)
		if len(pending) == 0 || !u.tells() {
			u.checking = false
			u.changes.Unlock()
			return
		}
		u.changes.Unlock()
		if pending[""] {
			u.trying("", u.checkAll())
			continue
		}
		for supi := range pending {
			u.trying(supi, u.checkOne(supi))
		}
	}
}

// trying on where a look has failed.
func (u *UDM) trying(supi string, err error) {
	if err == nil {
		return
	}
	u.complain(slog.LevelError, "nobody is told of changes of the subscriber yet, trying on", supi, err)
	time.AfterFunc(lookUpPause, func() {
		u.changes.Lock()
		defer u.changes.Unlock()
		u.look(supi)
	})
}

// complain of what is the same for every subscriber while the session store is away, or the database: a cause once a minute.
func (u *UDM) complain(level slog.Level, what, supi string, err error) {
	cause := err.Error()
	if supi != "" {
		cause = strings.ReplaceAll(cause, supi, "")
	}
	if tell, more := u.complaints.About(time.Now(), what, cause); tell {
		u.log.Log(context.Background(), level, what, "supi", supi, "more", more, "error", err)
	}
}

// checkAll tells of what has changed of any subscriber that somebody wants to hear of.
func (u *UDM) checkAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), walkLimit)
	defer cancel()
	owners, err := u.subscriptions.Owners(ctx)
	if err != nil {
		return err
	}
	if err := u.registrations.supis(ctx, groupUEs, ueKey, func(supi string) bool { owners[supi] = true; return true }); err != nil {
		return err
	}
	for _, supi := range slices.Sorted(maps.Keys(owners)) {
		u.checkFirst()
		if err := u.checkOne(supi); err != nil {
			return err
		}
	}
	return nil
}

// checkFirst those that have changed by themselves: they do not wait until all have been looked at, which takes minutes in a large core.
func (u *UDM) checkFirst() {
	u.changes.Lock()
	var first []string
	for supi := range u.pending {
		if supi != "" {
			first = append(first, supi)
			delete(u.pending, supi)
		}
	}
	u.changes.Unlock()
	for _, supi := range first {
		u.trying(supi, u.checkOne(supi))
	}
}

// checkOne tells of what has changed of one subscriber.
func (u *UDM) checkOne(supi string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
	defer cancel()
	mine, err := u.subscriptions.Of(ctx, supi)
	if err != nil {
		return err
	}
	s, err := u.known(ctx, supi)
	if err != nil {
		return err
	}
	for _, one := range mine {
		w := new(sdmSubscription)
		if err := json.Unmarshal(one.Body, w); err != nil {
			return err
		}
		if err := u.compare(ctx, one, w, s); err != nil {
			return err
		}
	}
	if !u.Withdraws {
		return nil
	}
	return u.withdraw(ctx, supi, s.Barred)
}

// known is what is known of a subscriber now: one that is gone is as one that is barred.
func (u *UDM) known(ctx context.Context, supi string) (subscription.Subscriber, error) {
	s, err := u.directory.Subscriber(ctx, supi)
	if errors.Is(err, subscription.ErrUnknownSubscriber) {
		s, err = subscription.Subscriber{SUPI: supi, Barred: true}, nil
	}
	return s, err
}

// withdraw has AMFs told that nobody is to serve the UE, and takes note where somebody may again.
func (u *UDM) withdraw(ctx context.Context, supi string, barred bool) error {
	ue, err := u.registrations.ue(ctx, supi)
	if err != nil {
		return err
	}
	for access, r := range ue.AMF {
		key, callback := amfKey{supi, access}, r.callback
		switch {
		case r.Withdrawn == barred:
		case !barred:
			err = errors.Join(err, u.note(ctx, key, callback, false))
		case u.begin(ueKey+supi+access, supi):
			u.notifier.withdraw(key, string(callback), func(ctx context.Context) bool { return u.withdrawalSuperseded(ctx, key, callback) }, func(result string, _ int) {
				ctx, cancel := context.WithTimeout(context.Background(), doneLimit)
				defer cancel()
				if answered(result) {
					u.written(u.note(ctx, key, callback, true), supi)
				}
				u.end(ueKey + supi + access)
			})
		}
	}
	return err
}

// note whether an AMF was told that nobody is to serve the UE.
func (u *UDM) note(ctx context.Context, key amfKey, callback sbi.CallbackURI, withdrawn bool) error {
	return u.registrations.change(ctx, key.supi, false, func(ue *servedUE) error {
		r := ue.AMF[key.access]
		if r == nil || r.callback != callback || r.Withdrawn == withdrawn {
			return records.ErrKeep
		}
		r.Withdrawn = withdrawn
		return nil
	})
}

func (u *UDM) withdrawalSuperseded(ctx context.Context, key amfKey, callback sbi.CallbackURI) bool {
	if !u.tells() {
		return true
	}
	r, err := u.registrations.of(ctx, key)
	if err == nil && (r == nil || r.callback != callback) {
		return true
	}
	if r != nil && r.Withdrawn { // it was told meanwhile
		return true
	}
	s, err := u.known(ctx, key.supi)
	return err == nil && !s.Barred
}

// notifyItem is NotifyItem of TS 29.571 5.2.4.23 and ChangeItem of 5.2.4.24.
type notifyItem struct {
	Resource string       `json:"resourceId"`
	Changes  []changeItem `json:"changes"`
}

type changeItem struct {
	Op   string `json:"op"`
	Path string `json:"path"`
}

// differences of what would be told from what was.
func (w *sdmSubscription) differences(now map[string][]byte) []notifyItem {
	var items []notifyItem
	for _, name := range slices.Sorted(maps.Keys(w.Resources)) {
		before, was := w.Seen[name]
		after, is := now[name]
		op := ""
		switch {
		case was && !is:
			op = "REMOVE"
		case !was && is:
			op = "ADD"
		case !bytes.Equal(before, after):
			op = "REPLACE"
		default:
			continue
		}
		items = append(items, notifyItem{w.Resources[name], []changeItem{{op, "/"}}})
	}
	return items
}

// compare tells a subscription of what is not as it was told last.
func (u *UDM) compare(ctx context.Context, one records.Subscription, w *sdmSubscription, s subscription.Subscriber) error {
	if !w.Expires.IsZero() && time.Now().After(w.Expires) {
		_, err := u.subscriptions.Remove(ctx, one.Owner, one.ID)
		return err
	}
	if w.Callback == "" {
		return nil
	}
	now := w.digests(s)
	if len(w.differences(now)) == 0 || !u.begin(one.ID, one.Owner) {
		return nil
	}
	// The one before may have ended since the subscription was read.
	items, err := u.untold(ctx, one.ID, now)
	if err != nil || len(items) == 0 {
		u.end(one.ID)
		return err
	}
	u.notifier.changed(one.Owner, w.Callback, struct {
		Items []notifyItem `json:"notifyItems"`
	}{items}, func(ctx context.Context) bool {
		if !u.tells() {
			return true
		}
		_, there, err := u.subscriptions.Get(ctx, one.ID)
		return err == nil && !there
	}, func(result string, status int) {
		ctx, cancel := context.WithTimeout(context.Background(), doneLimit)
		defer cancel()
		u.written(u.toldOf(ctx, one, now, result, status), one.Owner)
		u.end(one.ID)
	})
	return nil
}

// untold is what a subscription as it is now has not been told of.
func (u *UDM) untold(ctx context.Context, id string, now map[string][]byte) ([]notifyItem, error) {
	one, there, err := u.subscriptions.Get(ctx, id)
	if err != nil || !there {
		return nil, err
	}
	w := new(sdmSubscription)
	if err := json.Unmarshal(one.Body, w); err != nil {
		return nil, err
	}
	return w.differences(now), nil
}

// answered says whether a notification has been, and need not be sent again.
func answered(result string) bool { return result == resultDelivered || result == resultRefused }

// toldOf writes down what a subscription was told of.
func (u *UDM) toldOf(ctx context.Context, one records.Subscription, now map[string][]byte, result string, status int) error {
	if !answered(result) {
		return nil
	}
	if status == http.StatusNotFound { // the consumer knows the UE no more, and has not said so
		_, err := u.subscriptions.Remove(ctx, one.Owner, one.ID)
		return err
	}
	_, err := u.subscriptions.Replace(ctx, one.ID, func(was records.Subscription) ([]byte, error) {
		w := new(sdmSubscription)
		if err := json.Unmarshal(was.Body, w); err != nil {
			return nil, err
		}
		w.Seen = now
		return json.Marshal(w)
	})
	return err
}

func (u *UDM) written(err error, supi string) {
	if err != nil {
		u.complain(slog.LevelWarn, "who was told of a change may be told again", supi, err)
	}
}

// begin a notification, unless one of the same is under way: then it is looked again when that has ended.
func (u *UDM) begin(id, supi string) bool {
	u.changes.Lock()
	defer u.changes.Unlock()
	if _, underWay := u.underWay[id]; underWay {
		u.underWay[id] = supi
		return false
	}
	u.underWay[id] = ""
	return true
}

func (u *UDM) end(id string) {
	u.changes.Lock()
	defer u.changes.Unlock()
	if supi := u.underWay[id]; supi != "" {
		u.look(supi)
	}
	delete(u.underWay, id)
}
