package loopback

import (
	"fmt"
	"math/rand/v2"
)

// Network is of 254 addresses of this host, "127.x.y", for those that a port is written for: another run of the same test has
// another one.
func Network() string { return fmt.Sprintf("127.%d.%d", 100+rand.IntN(150), rand.IntN(256)) }
