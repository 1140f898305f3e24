package udm

// What has changed (TS 29.503 5.2.2.5): whoever sees a change of an object says whose data it may be, and what subscribers
// of these data were told last is compared with what they would be told now. So nobody hears of a change that is none, and
// changes that follow each other are told once. A subscriber that is deleted or barred has no data any more, and the AMF that
// serves it is told to deregister it (5.3.2.3.2), where AMFs do that.

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"

	"core5g.dev/core5g/images/nf/sbi"
	"core5g.dev/core5g/images/subscriber-data/subscription"
)

// lookUpLimit is for the directory, and lookUpPause the time before one that did not answer is asked again.
const (
	lookUpLimit = 3 * time.Second
	lookUpPause = time.Second
)

// sdmSubscription is an SdmSubscription (TS 29.503 6.1.6.2.3). It is replaced, never changed.
type sdmSubscription struct {
	// callback is "" where nobody is to be told.
	callback string
	// resources are the URIs that are monitored, as they were written, by their last element.
	resources map[string]string
	snssai    *subscription.SNSSAI
	dnn       string
	expires   time.Time
	// features are those that the consumer has, nil where it does not say; immediate: it wants the data with the answer.
	features  *uint64
	immediate bool
	// seen are the digests of what was told last; of data that are not there, there is none.
	seen map[string]uint64
}

// readSubscription reads and checks an SdmSubscription.
func readSubscription(c sbi.Content) (*sdmSubscription, error) {
	if _, err := sbi.Mandatory[sbi.Text](c, "nfInstanceId"); err != nil {
		return nil, err
	}
	var s sdmSubscription
	var err error
	if s.callback, _, err = sbi.Optional[string](c, "callbackReference"); err != nil {
		return nil, err
	}
	if s.callback != "" {
		if _, err := sbi.Mandatory[sbi.CallbackURI](c, "callbackReference"); err != nil {
			return nil, err
		}
	}
	monitored, _, err := sbi.Optional[[]sbi.Text](c, "monitoredResourceUris")
	if err != nil {
		return nil, err
	}
	s.resources = make(map[string]string, len(monitored))
	for _, uri := range monitored {
		s.resources[path.Base(string(uri))] = string(uri)
	}
	if _, _, err := sbi.Optional[subscription.PLMN](c, "plmnId"); err != nil {
		return nil, err
	}
	snssai, there, err := sbi.Optional[subscription.SNSSAI](c, "singleNssai")
	if err != nil {
		return nil, err
	}
	if there {
		s.snssai = &snssai
	}
	if s.dnn, _, err = sbi.Optional[string](c, "dnn"); err != nil {
		return nil, err
	}
	if s.expires, _, err = sbi.Optional[time.Time](c, "expires"); err != nil {
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
	for name := range w.resources {
		switch name {
		case "am-data", "nssai":
			data := accessAndMobility(s)
			out.AM = &data
		case "smf-select-data":
			data := smfSelection(s)
			out.SMFSel = &data
		case "sm-data":
			out.SM = sessionManagement(s, w.snssai, w.dnn)
		}
	}
	return out
}

// seed of all digests, which never leave the process.
var seed = maphash.MakeSeed()

// digests are those of the data that a subscription is of, as they are now.
func (w *sdmSubscription) digests(s subscription.Subscriber) map[string]uint64 {
	out := make(map[string]uint64)
	if s.Barred {
		return out
	}
	for name := range w.resources {
		var data any
		switch name {
		case "am-data":
			data = accessAndMobility(s)
		case "nssai":
			data = subscribedNSSAI(s)
		case "smf-select-data":
			data = smfSelection(s)
		case "sm-data":
			sessions := sessionManagement(s, w.snssai, w.dnn)
			if len(sessions) == 0 {
				continue
			}
			data = sessions
		default:
			continue
		}
		if raw, err := json.Marshal(data); err == nil { // of texts and numbers
			out[name] = maphash.Bytes(seed, raw)
		}
	}
	return out
}

// Changed says that the data of a SUPI may have changed, or with "" those of all. It does not wait.
func (u *UDM) Changed(supi string) {
	u.seen.Add(1)
	u.changes.Lock()
	defer u.changes.Unlock()
	u.pending[supi] = true
	if !u.checking {
		u.checking = true
		go u.check()
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
		if len(pending) == 0 {
			u.checking = false
			u.changes.Unlock()
			return
		}
		u.changes.Unlock()
		for _, supi := range u.affected(pending) {
			if err := u.checkOne(supi); err != nil {
				u.log.Error("nobody is told of changes of the subscriber yet, trying on", "supi", supi, "error", err)
				time.AfterFunc(lookUpPause, func() { u.Changed(supi) })
			}
		}
	}
}

// affected are the SUPIs that somebody wants to hear of.
func (u *UDM) affected(pending map[string]bool) []string {
	all := u.registrations.supis()
	for _, supi := range u.subscriptions.Owners() {
		all[supi] = true
	}
	if !pending[""] {
		maps.DeleteFunc(all, func(supi string, _ bool) bool { return !pending[supi] })
	}
	return slices.Sorted(maps.Keys(all))
}

// checkOne tells of what has changed of one subscriber.
func (u *UDM) checkOne(supi string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpLimit)
	defer cancel()
	s, err := u.directory.Subscriber(ctx, supi)
	gone := errors.Is(err, subscription.ErrUnknownSubscriber)
	if err != nil && !gone {
		return err
	}
	s.Barred = s.Barred || gone
	for id, body := range u.subscriptions.Of(supi) {
		if w, is := body.(*sdmSubscription); is {
			u.compare(supi, id, w, s)
		}
	}
	if !u.Withdraws {
		return nil
	}
	for access, uri := range u.registrations.withdraw(supi, s.Barred) {
		u.notifier.withdraw(u.registrations, amfKey{supi, access}, uri)
	}
	return nil
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

// compare tells a subscription of what is not as it was told last.
func (u *UDM) compare(supi, id string, w *sdmSubscription, s subscription.Subscriber) {
	if !w.expires.IsZero() && time.Now().After(w.expires) {
		u.subscriptions.Remove(supi, id)
		return
	}
	now := w.digests(s)
	var items []notifyItem
	for _, name := range slices.Sorted(maps.Keys(w.resources)) {
		before, was := w.seen[name]
		after, is := now[name]
		op := ""
		switch {
		case was && !is:
			op = "REMOVE"
		case !was && is:
			op = "ADD"
		case before != after:
			op = "REPLACE"
		default:
			continue
		}
		items = append(items, notifyItem{w.resources[name], []changeItem{{op, "/"}}})
	}
	if len(items) == 0 {
		return
	}
	told := *w
	told.seen = now
	if !u.subscriptions.Replace(id, &told) || w.callback == "" {
		return
	}
	u.notifier.changed(supi, w.callback, struct {
		Items []notifyItem `json:"notifyItems"`
	}{items}, func() bool {
		_, there := u.subscriptions.Get(id)
		return !there
	}, func(status int) {
		if status == http.StatusNotFound { // the consumer knows the UE no more, and has not said so
			u.subscriptions.Remove(supi, id)
		}
	})
}
