package classify_test

import (
	"strings"
	"testing"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// A failed call may speak of times and cancellations in the words of its business, or of its settings. That is no timeout.
func TestIssueBusinessTextsAreNoTimeouts(t *testing.T) {
	for _, text := range []string{
		"invalid argument: timeout must be positive",
		"validation failed: timeout is required",
		"invalid configuration: connection timeout must be at least 1s",
		"unknown option connection timeout",
		"SUBMISSION_DEADLINE_EXCEEDED: the tender closed on 3 May",
		"payment deadline exceeded after grace period",
		"order cancelled by customer",
		"subscription canceled",
		"order 17 was canceled: deadline for delivery exceeded",
		"option contract execution expired yesterday",
		"player timed-out and left the table",
		"user session timed out",
		"session timeout policy of tenant exceeded",
		"timeout of tenant 7 exceeded",
		"reservation timed out, seat released",
		"the request was cancelled by the merchant",
		"read timeout is not a number",
		"deadline must lie in the future",
		"cannot parse deadline \"soon\"",
		"request timeout setting 30 rejected: permission denied",
		"query timeout out of range",
		"Deadline exceeded: 3 days late",
		"Timeout",
		"cancelled",
		"time series not found",
		strings.Repeat("time", 1<<20),
		"\xff\xfetime\xffout\xc3",
	} {
		for _, kind := range []span.Kind{span.KindClient, span.KindServer, span.KindInternal, span.KindProducer, span.KindConsumer} {
			s := span.Span{Kind: kind, Parent: span.ID{1}, Status: span.StatusError, StatusMessage: text, Attrs: span.Attributes{}}
			classify.Builtin().Annotate(&s)
			if s.Attrs.Has(budgetattr.CancelCauseKey) || s.Attrs.Has(budgetattr.TimeoutPhaseKey) {
				t.Errorf("%.60q on %v: %v", text, kind, s.Attrs)
			}
		}
	}
}

// Logs beside the error of a call are about other things, such as an attempt before the one that failed.
func TestIssueLogsThatAreNoErrorsTellNothing(t *testing.T) {
	s := span.Span{Kind: span.KindClient, Parent: span.ID{1}, Status: span.StatusError, StatusMessage: "card refused", Attrs: span.Attributes{},
		Events: []span.Event{{Name: "log", Attrs: span.Attributes{"level": "info", "message": "attempt 1: connection timed out, trying again"}}}}
	classify.Builtin().Annotate(&s)
	if s.Attrs.Has(budgetattr.CancelCauseKey) {
		t.Errorf("%v", s.Attrs)
	}
	s.Events[0].Attrs["event"] = "error"
	classify.Builtin().Annotate(&s)
	if !s.Attrs.Has(budgetattr.CancelCauseKey) {
		t.Errorf("the log of an error tells nothing: %v", s.Attrs)
	}
}

// A row of a user matches words; one that begins with * also what only ends a longer name.
func TestIssueTextsBeginWithAWord(t *testing.T) {
	for text, want := range map[string]bool{"outofpatience": true, "pool: outofpatience now": true, "stockoutofpatience": false, "stock_outofpatience, outofpatience": true, "heardless": true, "xheardless": true} {
		c, err := classify.New(classify.Config{Rules: []classify.Row{
			{Text: "outofpatience", Rule: "word", Cause: "local_deadline"},
			{Text: "*heardless", Rule: "part", Cause: "local_deadline"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s := span.Span{Kind: span.KindClient, Parent: span.ID{1}, Status: span.StatusError, StatusMessage: text, Attrs: span.Attributes{}}
		c.Annotate(&s)
		if got := s.Attrs.Has(budgetattr.CancelCauseKey); got != want {
			t.Errorf("%q matched: %t", text, got)
		}
	}
}
