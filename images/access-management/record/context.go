package record

import "strings"

// MarkContext makes Session.Context of the resource URI of an SM context and of what the AMF knows it by, so that callbacks for one that had the identity
// before are told apart.
func MarkContext(uri, mark string) string { return uri + "#" + mark }

// UnmarkContext is the resource URI of a Session.Context, and its mark.
func UnmarkContext(context string) (uri, mark string) {
	uri, mark, _ = strings.Cut(context, "#")
	return uri, mark
}
