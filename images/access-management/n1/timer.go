package n1

import "time"

// Timer2 is a GPRS timer 2 (TS 24.008 10.5.7.4): T3346, T3448, T3502, and the non-3GPP de-registration timer.
//
// It says 0 to 31 times 2 s, 1 min or 6 min, so at most 3 h 6 min. Written is the shortest unit that reaches, rounded up;
// what is longer is written as the longest. Deactivated stands for itself.
type Timer2 time.Duration

// Timer3 is a GPRS timer 3 (TS 24.008 10.5.7.4a): T3512, T3324, T3447, and the back-off timer.
//
// It says 0 to 31 times 2 s, 30 s, 1 min, 10 min, 1 h, 10 h or 320 h, so at most 9920 h. It is rounded as Timer2 is.
type Timer3 time.Duration

// Deactivated is a Timer2 or a Timer3 that does not run.
const Deactivated = -1

// timerUnit is a unit and its number, which stands in the upper three bits.
type timerUnit struct {
	unit time.Duration
	code byte
}

const deactivatedCode = 7

func units2() []timerUnit {
	return []timerUnit{{2 * time.Second, 0}, {time.Minute, 1}, {6 * time.Minute, 2}}
}

func units3() []timerUnit {
	return []timerUnit{
		{2 * time.Second, 3}, {30 * time.Second, 4}, {time.Minute, 5}, {10 * time.Minute, 0}, {time.Hour, 1}, {10 * time.Hour, 2},
		{320 * time.Hour, 6},
	}
}

func timerOctet(d time.Duration, units []timerUnit) byte {
	if d < 0 {
		return deactivatedCode << 5
	}
	for _, u := range units {
		if d <= 31*u.unit {
			return u.code<<5 | byte((d+u.unit-1)/u.unit)
		}
	}
	return units[len(units)-1].code<<5 | 31
}

func timerDuration(o byte, units []timerUnit, other time.Duration) time.Duration {
	if o>>5 == deactivatedCode {
		return Deactivated
	}
	for _, u := range units {
		if u.code == o>>5 {
			return time.Duration(o&31) * u.unit
		}
	}
	return time.Duration(o&31) * other
}

// Rounded is what the UE reads of the timer: by it the network's own timers are to be set.
func (t Timer2) Rounded() time.Duration {
	return timerDuration(timerOctet(time.Duration(t), units2()), units2(), time.Minute)
}

// Rounded is what the UE reads of the timer: by it the network's own timers are to be set.
func (t Timer3) Rounded() time.Duration {
	return timerDuration(timerOctet(time.Duration(t), units3()), units3(), time.Minute)
}

func (t *Timer2) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*t = Timer2(timerDuration(b[0], units2(), time.Minute)) // other units are minutes in this version of the protocol
	return true
}

func (t *Timer2) write(b []byte) []byte { return append(b, timerOctet(time.Duration(*t), units2())) }

func (t *Timer3) read(b []byte) bool {
	if len(b) < 1 {
		return false
	}
	*t = Timer3(timerDuration(b[0], units3(), time.Minute))
	return true
}

func (t *Timer3) write(b []byte) []byte { return append(b, timerOctet(time.Duration(*t), units3())) }
