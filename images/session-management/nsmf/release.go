package nsmf

import (
	"encoding/json"
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
	var out Release
	f := sbi.Reading(content, message)
	if out.fields(f); f.Err() != nil {
		return nil, f.Err()
	}
	return &out, nil
}

// Write is what an AMF sends.
func (r *Release) Write() (json.RawMessage, []sbi.Part, error) {
	f := sbi.Writing()
	r.fields(f)
	return f.Written()
}

func (r *Release) fields(f *sbi.Fields) {
	r.Why.fields(f)
	r.Where.fields(f)
	n2Fields(f, &r.N2, &r.N2Type)
	sbi.Member(f, "vsmfReleaseOnly", &r.VSMFOnly)
	sbi.Member(f, "ismfReleaseOnly", &r.ISMFOnly)
}
