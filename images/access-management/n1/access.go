package n1

import "errors"

// CategoryDefinition is an operator-defined access category (TS 24.501 9.11.3.38).
type CategoryDefinition struct {
	Precedence uint8
	// Number 0 to 31 stands for access category 32 to 63.
	Number uint8
	// DNNs, Apps and Slices are the criteria, of which one has to match; nil: no such criterion.
	DNNs   []string
	Apps   []App
	Slices []SNSSAI
	// Standardized is the access category that stands for it; nil: not told.
	Standardized *uint8
}

// App is an application of an operating system.
type App struct {
	OS [16]byte
	ID string
}

// CategoryDefinitions is a list of them. An empty one that is there deletes what the UE has.
type CategoryDefinitions []CategoryDefinition

const (
	criterionDNN, criterionApp, criterionSlice = 0, 1, 2
	hasStandardized                            = 0x80
	categoryMask                               = 0x1f
)

func (l *CategoryDefinitions) read(b []byte) bool {
	*l = CategoryDefinitions{}
	for len(b) > 0 {
		content, rest, is := readLengthed(b)
		var d CategoryDefinition
		if !is || !d.read(content) {
			return false
		}
		*l, b = append(*l, d), rest
	}
	return true
}

func (d *CategoryDefinition) read(b []byte) bool {
	if len(b) < 3 {
		return false
	}
	d.Precedence, d.Number = b[0], b[1]&categoryMask
	has := b[1]&hasStandardized != 0
	criteria, rest, is := readLengthed(b[2:])
	if !is || !d.readCriteria(criteria) || has && len(rest) < 1 {
		return false
	}
	if has {
		d.Standardized = new(rest[0] & categoryMask)
	}
	return true
}

func (d *CategoryDefinition) readCriteria(b []byte) bool {
	for len(b) > 0 {
		if len(b) < 2 {
			return false
		}
		kind, n := b[0], int(b[1])
		b = b[2:]
		for range n {
			var content []byte
			var is bool
			switch kind {
			case criterionDNN:
				content, b, is = readLengthed(b)
				dnn, named := readDNN(content)
				if !is || !named {
					return false
				}
				d.DNNs = append(d.DNNs, dnn)
			case criterionApp:
				if len(b) < 16 {
					return false
				}
				app := App{OS: [16]byte(b)}
				if content, b, is = readLengthed(b[16:]); !is {
					return false
				}
				app.ID = string(content)
				d.Apps = append(d.Apps, app)
			case criterionSlice:
				content, b, is = readLengthed(b)
				var s Slice
				if !is || !s.read(content) {
					return false
				}
				d.Slices = append(d.Slices, s.SNSSAI)
			default:
				return false
			}
		}
	}
	return true
}

func (l *CategoryDefinitions) write(b []byte) []byte {
	for _, d := range *l {
		b = appendLengthed(b, d.append)
	}
	return b
}

func (d *CategoryDefinition) append(b []byte) []byte {
	b = append(b, d.Precedence, d.Number|bit(d.Standardized != nil, 7))
	b = appendLengthed(b, d.appendCriteria)
	if d.Standardized != nil {
		b = append(b, *d.Standardized)
	}
	return b
}

func (d *CategoryDefinition) appendCriteria(b []byte) []byte {
	if len(d.DNNs) > 0 {
		b = append(b, criterionDNN, byte(len(d.DNNs)))
		for _, dnn := range d.DNNs {
			b = appendLengthed(b, func(b []byte) []byte { return appendDNN(b, dnn) })
		}
	}
	if len(d.Apps) > 0 {
		b = append(b, criterionApp, byte(len(d.Apps)))
		for _, app := range d.Apps {
			b = appendLengthed(append(b, app.OS[:]...), func(b []byte) []byte { return append(b, app.ID...) })
		}
	}
	if len(d.Slices) > 0 {
		b = append(b, criterionSlice, byte(len(d.Slices)))
		for _, s := range d.Slices {
			b = appendLengthed(b, (&Slice{SNSSAI: s}).write)
		}
	}
	return b
}

func (l *CategoryDefinitions) check() error {
	for _, d := range *l {
		if d.Number > categoryMask || d.Standardized != nil && *d.Standardized > categoryMask {
			return errors.New("an access category's number is 0 to 31")
		}
		for _, dnn := range d.DNNs {
			if err := checkDNN(dnn); err != nil {
				return err
			}
		}
		if len(d.append(nil)) > 0xff {
			return errors.New("an access category definition is longer than 255 octets")
		}
	}
	return nil
}

// EmergencyServices is what an emergency number is for (TS 24.008 10.5.4.33): a set.
type EmergencyServices uint8

// The services.
const (
	Police    EmergencyServices = 1 << 0
	Ambulance EmergencyServices = 1 << 1
	Fire      EmergencyServices = 1 << 2
	Marine    EmergencyServices = 1 << 3
	Mountain  EmergencyServices = 1 << 4
)

// What this package takes for an emergency number, and for the name of its service.
const maxNumber, maxService = 40, 100

// EmergencyNumber is a local one (TS 24.501 9.11.3.23).
type EmergencyNumber struct {
	Services EmergencyServices
	Digits   string
}

// EmergencyNumbers is a list of them.
type EmergencyNumbers []EmergencyNumber

func (l *EmergencyNumbers) read(b []byte) bool {
	*l = nil
	for len(b) > 0 {
		content, rest, is := readLengthed(b)
		if !is || len(content) < 2 {
			return false
		}
		n := EmergencyNumber{Services: EmergencyServices(content[0] & 0x1f), Digits: readBCD(content[1:], 0)}
		if !isDigits(n.Digits, 1, maxNumber) {
			return false
		}
		*l, b = append(*l, n), rest
	}
	return len(*l) > 0
}

func (l *EmergencyNumbers) write(b []byte) []byte {
	for _, n := range *l {
		b = appendLengthed(b, func(b []byte) []byte { return appendBCD(append(b, byte(n.Services)), n.Digits) })
	}
	return b
}

func (l *EmergencyNumbers) check() error {
	for _, n := range *l {
		if !isDigits(n.Digits, 1, maxNumber) || n.Services > 0x1f {
			return errors.New("an emergency number has 1 to 40 digits")
		}
	}
	return nil
}

// ServiceNumber is an emergency number with the service that it stands for (TS 24.501 9.11.3.26, TS 24.301 9.9.3.37A).
type ServiceNumber struct {
	Digits string
	// Service is a sub-service of "sos" (TS 24.301 9.9.3.37A): "police"; "" for all.
	Service string
}

// ServiceNumbers is an extended emergency number list.
type ServiceNumbers struct {
	// OnlyHere: they are valid in this PLMN only, not in the country.
	OnlyHere bool
	Numbers  []ServiceNumber
}

func (l *ServiceNumbers) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	l.OnlyHere, b = b[0]&1 != 0, b[1:]
	for len(b) > 0 {
		digits, rest, is := readLengthed(b)
		if !is {
			return false
		}
		service, rest, is := readLengthed(rest)
		n := ServiceNumber{Digits: readBCD(digits, 0), Service: string(service)}
		if !is || !isDigits(n.Digits, 1, maxNumber) || len(service) > maxService {
			return false
		}
		l.Numbers, b = append(l.Numbers, n), rest
	}
	return len(l.Numbers) > 0
}

func (l *ServiceNumbers) write(b []byte) []byte {
	b = append(b, bit(l.OnlyHere, 0))
	for _, n := range l.Numbers {
		b = appendLengthed(b, func(b []byte) []byte { return appendBCD(b, n.Digits) })
		b = appendLengthed(b, func(b []byte) []byte { return append(b, n.Service...) })
	}
	return b
}

func (l *ServiceNumbers) check() error {
	if len(l.Numbers) == 0 {
		return errors.New("a list of emergency numbers needs one")
	}
	for _, n := range l.Numbers {
		if !isDigits(n.Digits, 1, maxNumber) || len(n.Service) > maxService {
			return errors.New("an emergency number has 1 to 40 digits, and a service of up to 100 characters")
		}
	}
	return nil
}
