package procedure

import "core5g.dev/core5g/images/access-management/n2"

// More UEs come than a shard can have strangers, and those that are too many are told to come later (T3346). That costs each of them a connection and the AMF
// a message each way, and no stranger can be told from another. gNBs can do it before, and know emergencies, priority and who was paged: they are asked to
// refuse a share of the others (TS 38.413 8.7.7, TS 23.501 5.19.5.2), until nobody is too many any more (8.7.8).
//
//	the share      what was too many since the last look, of all that would have come: rounded up to tens, so that gNBs hear of changes that are some
//	it falls       by half, rounded down to tens, when five looks in a row have found nobody who was too many, and so on
//
// What a gNB was asked last is in its record: whoever has the shard next takes it back, or changes it.

// Overload is what gNBs are asked to do about the load of a shard. The zero value asks nothing.
type Overload struct {
	// Reduction is the share of connections that gNBs are to refuse, in percent: 0, or 10 to 90 in tens.
	Reduction uint8
	calm      int
}

// calmLooks in a row have found nobody who was too many, before gNBs are asked for less.
const calmLooks = 5

// mostReduction leaves a way in: who comes is what the next look counts.
const mostReduction = 90

// Look at how many UEs have come since the last look, and how many of these were too many.
func (o *Overload) Look(came, tooMany int) {
	if tooMany > 0 && came > 0 {
		o.calm = 0
		let := (100 - int(o.Reduction)) * (came - min(tooMany, came)) / came
		o.Reduction = uint8(min((100-let+9)/10*10, mostReduction))
		return
	}
	if o.calm++; o.calm >= calmLooks {
		o.calm = 0
		o.Reduction = o.Reduction / 2 / 10 * 10
	}
}

// Request is what a gNB hears that was asked for another reduction.
func (o *Overload) Request() n2.Message {
	if o.Reduction == 0 {
		return &n2.OverloadStop{}
	}
	return &n2.OverloadStart{Action: n2.OverloadRejectSignalling, Reduction: o.Reduction}
}
