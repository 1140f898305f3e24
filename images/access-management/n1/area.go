package n1

import "errors"

// LADN is a local area data network, and where it is (TS 24.501 9.11.3.30).
type LADN struct {
	DNN string
	TAIs
}

// LADNs is the LADN information, of up to 8.
type LADNs []LADN

const maxLADNs = 8

func (l *LADNs) read(b []byte) bool {
	*l = nil
	for len(b) > 0 {
		name, rest, is := readLengthed(b)
		if !is || len(*l) == maxLADNs {
			return false
		}
		dnn, is := readDNN(name)
		if !is {
			return false
		}
		area, rest, is := readLengthed(rest)
		one := LADN{DNN: dnn}
		if !is || !one.TAIs.read(area) {
			return false
		}
		*l, b = append(*l, one), rest
	}
	return true
}

func (l *LADNs) write(b []byte) []byte {
	for _, one := range *l {
		b = appendLengthed(b, func(b []byte) []byte { return appendDNN(b, one.DNN) })
		b = appendLengthed(b, one.TAIs.write)
	}
	return b
}

func (l *LADNs) check() error {
	if len(*l) > maxLADNs {
		return errors.New("there are at most 8 LADNs")
	}
	for _, one := range *l {
		if err := errors.Join(checkDNN(one.DNN), one.TAIs.check()); err != nil {
			return err
		}
	}
	return nil
}

// appendLengthed writes a length of one octet and a content, which is known to be short enough.
func appendLengthed(b []byte, content func([]byte) []byte) []byte {
	at := len(b)
	b = content(append(b, 0))
	b[at] = byte(len(b) - at - 1)
	return b
}

// DNNs is a list of data networks' names: a LADN indication (TS 24.501 9.11.3.29). An empty one that is there asks for all.
type DNNs []string

func (l *DNNs) read(b []byte) bool {
	*l = DNNs{}
	for len(b) > 0 {
		name, rest, is := readLengthed(b)
		if !is || len(*l) == maxLADNs {
			return false
		}
		dnn, is := readDNN(name)
		if !is {
			return false
		}
		*l, b = append(*l, dnn), rest
	}
	return true
}

func (l *DNNs) write(b []byte) []byte {
	for _, dnn := range *l {
		b = appendLengthed(b, func(b []byte) []byte { return appendDNN(b, dnn) })
	}
	return b
}

func (l *DNNs) check() error {
	if len(*l) > maxLADNs {
		return errors.New("there are at most 8 LADNs")
	}
	for _, dnn := range *l {
		if err := checkDNN(dnn); err != nil {
			return err
		}
	}
	return nil
}

// DNN is a data network's name (TS 24.501 9.11.2.1B): "internet", "internet.mnc093.mcc208.gprs".
type DNN string

const maxDNN, maxLabel = 100, 63

func (d *DNN) read(b []byte) bool {
	text, is := readDNN(b)
	*d = DNN(text)
	return is
}

func (d *DNN) write(b []byte) []byte { return appendDNN(b, string(*d)) }

func (d *DNN) check() error { return checkDNN(string(*d)) }

// readDNN reads labels (TS 23.003 9.1), without dots in them.
func readDNN(b []byte) (string, bool) {
	if len(b) == 0 || len(b) > maxDNN {
		return "", false
	}
	text := make([]byte, 0, len(b)-1)
	for len(b) > 0 {
		label, rest, is := readLengthed(b)
		if !is || len(label) == 0 || len(label) > maxLabel {
			return "", false
		}
		if len(text) > 0 {
			text = append(text, '.')
		}
		for _, o := range label {
			if o <= ' ' || o == '.' || o >= 0x7f {
				return "", false
			}
			text = append(text, o)
		}
		b = rest
	}
	return string(text), true
}

func appendDNN(b []byte, dnn string) []byte {
	at := len(b)
	b = append(b, 0)
	for i := range len(dnn) {
		if dnn[i] == '.' {
			at = len(b)
			b = append(b, 0)
			continue
		}
		b = append(b, dnn[i])
		b[at]++
	}
	return b
}

func checkDNN(dnn string) error {
	if len(dnn) < maxDNN {
		if _, is := readDNN(appendDNN(nil, dnn)); is {
			return nil
		}
	}
	return errors.New("a DNN has up to 99 characters, in labels of 1 to 63 with dots between them")
}

// ServiceArea is where a UE may have services, or may not (TS 24.501 9.11.3.49).
type ServiceArea struct {
	// NotAllowed: these are the places where it may not.
	NotAllowed bool
	// Whole are PLMNs of which every tracking area is meant.
	Whole PLMNs
	// TAIs, up to 16.
	TAIs TAIs
}

func (a *ServiceArea) read(b []byte) bool {
	for first := true; len(b) > 0; first = false {
		p, rest, is := nextPartial(b)
		if !is || !first && p.marked != a.NotAllowed {
			return false
		}
		a.NotAllowed = p.marked
		if p.kind == listWholePLMN {
			a.Whole = append(a.Whole, p.tais[0].PLMN)
		} else {
			a.TAIs = append(a.TAIs, p.tais...)
		}
		b = rest
	}
	return len(a.Whole)+len(a.TAIs) > 0 && len(a.TAIs) <= maxTAIs && len(a.Whole) <= maxPLMNs
}

func (a *ServiceArea) write(b []byte) []byte {
	mark := bit(a.NotAllowed, 7)
	for _, p := range a.Whole {
		b = append(append(b, mark|listWholePLMN<<5), p[:]...)
	}
	if len(a.TAIs) == 0 {
		return b
	}
	return appendPartial(b, mark, a.TAIs)
}

func (a *ServiceArea) check() error {
	if len(a.Whole)+len(a.TAIs) == 0 {
		return errors.New("a service area needs PLMNs or TAIs")
	}
	if len(a.TAIs) == 0 {
		return a.Whole.check()
	}
	return errors.Join(a.Whole.check(), a.TAIs.check())
}
