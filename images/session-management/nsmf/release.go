package nsmf

import (
	"net/http"

	"core5g.dev/core5g/images/nf/sbi"
)

// Release is SmContextReleaseData (TS 29.502 6.1.6.2.6). What the AMF does not say is zero.
type Release struct {
	Why    Why
	Where  Where
	N2     []byte
	N2Type N2Type
	// VSMFOnly and ISMFOnly: only the context of a V-SMF or I-SMF goes, the session stays.
	VSMFOnly, ISMFOnly bool
}

// readRelease reads the content, which may be absent (TS 29.502 6.1.3.3.4.3).
func readRelease(req *http.Request) (*Release, error) {
	if req.ContentLength == 0 {
		return &Release{}, nil
	}
	content, message, err := sbi.ReadMessage(req)
	if err != nil {
		return nil, err
	}
	r := &reader{content: content, message: message}
	var out Release
	r.why(&out.Why)
	r.where(&out.Where)
	r.n2(&out.N2, &out.N2Type)
	optional(r, "vsmfReleaseOnly", &out.VSMFOnly)
	optional(r, "ismfReleaseOnly", &out.ISMFOnly)
	if r.err != nil {
		return nil, r.err
	}
	return &out, nil
}
