package n2

import "core5g.dev/core5g/images/ngapcause"

// Cause of a message.
type Cause = ngapcause.Cause

// groups of causes in the order of their alternatives, and choice-Extensions.
const causeAlternatives = int(ngapcause.Misc) + 2

func codeCause(c *coder, v *Cause) {
	group := c.choice(int(v.Group()), causeAlternatives)
	if group < 0 {
		return
	}
	// A value of a later release is a cause still, and what was refused is refused. None can have such a number.
	value := c.enumeration(uint64(v.Value()), uint64(ngapcause.Group(group).Root()))
	set(c, v, ngapcause.Make(ngapcause.Group(group), uint16(min(value, 0xffff))))
}
