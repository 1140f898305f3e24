package front

import "core5g.dev/core5g/images/registration/sbitls"

// Terminate ends TLS before a function of free5GC, which would read its certificate once and ask nobody for
// theirs. It moves the function to the loopback interface, by its configuration's bindingIPv4; call it before
// the function is made. The function speaks TLS there too, with the certificate that it read when it
// started: nobody looks at that one.
func Terminate(identity *sbitls.Identity, binding *string, port int) (*Front, error) {
	place, err := Beside("https", *binding, port)
	if err != nil {
		return nil, err
	}
	*binding = place.PrivateHost
	f := New(place, Proxy(place.Private, nil, nil))
	f.TLS = identity.Server()
	return f, nil
}
