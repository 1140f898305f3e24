package n2

// free5gc/ngap spells each information element as {Id, Criticality, Value{Present, one pointer per
// possible type}}, where the struct tag of each pointer holds the IE's identity and Present is its
// position. The same shape repeats for the message inside the PDU, with the procedure code in the
// tag. So the Go type of a value says everything else: Add, Find and the three message functions
// below fill in and look up the rest by reflection, once, here.

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap"
	"github.com/free5gc/ngap/ngapType"
)

// Criticality of IEs and procedures (TS 38.413 10.3.2).
const (
	Reject = ngapType.CriticalityPresentReject
	Ignore = ngapType.CriticalityPresentIgnore
	Notify = ngapType.CriticalityPresentNotify
)

// choose sets the one pointer of a Value struct that has v's type, and returns the number in its tag.
func choose(value reflect.Value, v any) (int64, error) {
	t := value.Type()
	for i := 1; i < t.NumField(); i++ {
		if t.Field(i).Type != reflect.TypeOf(v) {
			continue
		}
		value.Field(0).SetInt(int64(i))
		value.Field(i).Set(reflect.ValueOf(v))
		for _, part := range strings.Split(t.Field(i).Tag.Get("aper"), ",") {
			if n, ok := strings.CutPrefix(part, "referenceFieldValue:"); ok {
				return strconv.ParseInt(n, 10, 64)
			}
		}
		return 0, fmt.Errorf("ngap: %s.%s has no reference value", t, t.Field(i).Name)
	}
	return 0, fmt.Errorf("ngap: %s has no field of type %T", t, v)
}

// Add appends the IE that holds v (a pointer) to a message's list. A v that the list cannot hold is
// a programming error, and panics.
func Add[T any](list *[]T, criticality aper.Enumerated, v any) {
	var ie T
	s := reflect.ValueOf(&ie).Elem()
	id, err := choose(s.FieldByName("Value"), v)
	if err != nil {
		panic(err)
	}
	s.FieldByName("Id").Field(0).SetInt(id)
	s.FieldByName("Criticality").Field(0).SetUint(uint64(criticality))
	*list = append(*list, ie)
}

// Find returns the first IE of type V in a message's list, nil when there is none.
func Find[V, T any](list []T) *V {
	want := reflect.TypeFor[*V]()
	for i := range list {
		value := reflect.ValueOf(&list[i]).Elem().FieldByName("Value")
		for f := 1; f < value.NumField(); f++ {
			if p := value.Field(f); p.Type() == want && !p.IsNil() {
				return p.Interface().(*V)
			}
		}
	}
	return nil
}

// Initiating encodes an initiating message; message is a pointer such as *ngapType.NGSetupRequest.
func Initiating(criticality aper.Enumerated, message any) ([]byte, error) {
	m := &ngapType.InitiatingMessage{Criticality: ngapType.Criticality{Value: criticality}}
	code, err := choose(reflect.ValueOf(&m.Value).Elem(), message)
	if err != nil {
		return nil, err
	}
	m.ProcedureCode.Value = code
	return encode(ngapType.NGAPPDU{Present: ngapType.NGAPPDUPresentInitiatingMessage, InitiatingMessage: m})
}

// Successful encodes a successful outcome.
func Successful(criticality aper.Enumerated, message any) ([]byte, error) {
	m := &ngapType.SuccessfulOutcome{Criticality: ngapType.Criticality{Value: criticality}}
	code, err := choose(reflect.ValueOf(&m.Value).Elem(), message)
	if err != nil {
		return nil, err
	}
	m.ProcedureCode.Value = code
	return encode(ngapType.NGAPPDU{Present: ngapType.NGAPPDUPresentSuccessfulOutcome, SuccessfulOutcome: m})
}

// Unsuccessful encodes an unsuccessful outcome.
func Unsuccessful(criticality aper.Enumerated, message any) ([]byte, error) {
	m := &ngapType.UnsuccessfulOutcome{Criticality: ngapType.Criticality{Value: criticality}}
	code, err := choose(reflect.ValueOf(&m.Value).Elem(), message)
	if err != nil {
		return nil, err
	}
	m.ProcedureCode.Value = code
	return encode(ngapType.NGAPPDU{Present: ngapType.NGAPPDUPresentUnsuccessfulOutcome, UnsuccessfulOutcome: m})
}

func encode(pdu ngapType.NGAPPDU) (b []byte, err error) {
	defer recovered(&err)
	return ngap.Encoder(pdu)
}

// Decode reads one NGAP message and returns the pointer to it, such as *ngapType.NGSetupResponse.
func Decode(b []byte) (message any, err error) {
	defer recovered(&err)
	pdu, err := ngap.Decoder(b)
	if err != nil {
		return nil, err
	}
	var value reflect.Value
	switch {
	case pdu.InitiatingMessage != nil:
		value = reflect.ValueOf(pdu.InitiatingMessage.Value)
	case pdu.SuccessfulOutcome != nil:
		value = reflect.ValueOf(pdu.SuccessfulOutcome.Value)
	case pdu.UnsuccessfulOutcome != nil:
		value = reflect.ValueOf(pdu.UnsuccessfulOutcome.Value)
	default:
		return nil, fmt.Errorf("ngap: empty PDU")
	}
	for i := 1; i < value.NumField(); i++ {
		if !value.Field(i).IsNil() {
			return value.Field(i).Interface(), nil
		}
	}
	return nil, fmt.Errorf("ngap: empty message")
}

// Marshal encodes a transfer container (the octet strings of TS 38.413 9.3.4).
func Marshal(v any) (b []byte, err error) {
	defer recovered(&err)
	return aper.MarshalWithParams(v, "valueExt")
}

// Unmarshal decodes a transfer container into v.
func Unmarshal(b []byte, v any) (err error) {
	defer recovered(&err)
	return aper.UnmarshalWithParams(b, v, "valueExt")
}

// recovered turns a panic of the codec into an error: its input comes from the wire.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("ngap codec: %v", r)
	}
}
