package render

import (
	"fmt"
	"io"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/span"
)

// Limit writes one hidden limit with its evidence as a paragraph.
func Limit(w io.Writer, l limit.Limit, width int) error {
	p := page{columns: width}
	p.paragraph("", LimitText(l))
	_, err := w.Write(p.Bytes())
	return err
}

// LimitText says what a hidden limit is and how it is known.
func LimitText(l limit.Limit) string {
	text := fmt.Sprintf("Hidden limit: %s from %s to %s, in no span: %d of %s ended after %s to %s", span.SecondsOf(l.At).Human(), l.Edge.Caller,
		Clean(l.Edge.Peer+" "+l.Edge.Operation), l.Cut, count(l.Calls, "call"), span.SecondsOf(l.From).Human(), span.SecondsOf(l.To).Human())
	switch l.Beyond {
	case 0:
		text += " and none later"
	default:
		text += fmt.Sprintf(" and %d later", l.Beyond)
	}
	if l.Outlived > 0 {
		text += fmt.Sprintf("; %s went on working for at least %s in all", count(l.Outlived, "callee"), span.SecondsOf(l.After).Human())
		if l.Past > l.Outlived {
			text += fmt.Sprintf(", %d for about %s by the clocks of both", l.Past, span.SecondsOf(l.Estimate).Human())
		}
	}
	if l.TimedOut > 0 {
		text += fmt.Sprintf("; of %d the timeout is recorded", l.TimedOut)
	}
	if l.Failed > 0 {
		text += fmt.Sprintf("; %d failed", l.Failed)
	}
	return text + fmt.Sprintf(". At least %.0f %% of what reached it was cut there.", 100*l.Confidence)
}
