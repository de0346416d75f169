// Package hop converts spans to rows of the table hops and back: the one conversion that the exporter, the worker and the
// statement of a trace without raw spans share. It is pure.
package hop

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Row is one hop. Times are nanoseconds; strings are valid UTF-8 and bounded.
type Row struct {
	Trace         span.TraceID
	Span          span.ID
	Parent        span.ID
	Service       string
	Name          string
	Kind          span.Kind
	Status        span.Status
	StatusMessage string
	Start         int64
	Duration      int64
	Weight        float64 // how many spans this one stands for
	// Entry, Answered and Exhausted are what the span says by itself; see verdict.SpanVerdict. The last two, and the route,
	// are about entries.
	Entry, Answered, Exhausted bool

	Route          string
	Peer           string
	Instance       string
	Host           string
	PID            int64
	ServiceVersion string
	Environment    string
	ErrorType      string
	OpenChildren   []OpenChild
	Links          []Link
	Values         []Value // in the order of Facts
}

// OpenChild is a hop that still ran when the response of this one went out.
type OpenChild struct{ Span, Stage, Peer, Cause string }

// Link is a reference to a span that caused this one.
type Link struct {
	Trace span.TraceID
	Span  span.ID
}

// maxParts bounds the open children and links of one row.
const maxParts = 128

// Is reports whether a span is a hop: it crosses a process, begins a trace, or carries facts of ours.
func Is(s *span.Span) bool {
	if s.Parent.IsZero() {
		return true
	}
	switch s.Kind {
	case span.KindServer, span.KindClient, span.KindProducer, span.KindConsumer:
		return true
	}
	for key := range s.Attrs {
		if strings.HasPrefix(key, budgetattr.Prefix) {
			return true
		}
	}
	return false
}

// FromSpan converts a span. Dropped counts the deadline.* attributes whose values make no sense; they are left out.
func FromSpan(s *span.Span) (row Row, dropped int) {
	row = Row{
		Trace: s.Trace, Span: s.ID, Parent: s.Parent,
		Service: clean(s.Service, maxText), Name: clean(s.Name, maxText),
		Kind: s.Kind, Status: s.Status, StatusMessage: clean(s.StatusMessage, maxText),
		Start: s.Start, Duration: s.End - s.Start, Weight: Weight(s.TraceState),
		Peer:           clean(verdict.PeerOf(s), maxText),
		Instance:       clean(s.Resource.String("service.instance.id"), maxText),
		Host:           clean(cmp.Or(s.Resource.String("host.name"), s.Resource.String("host.id")), maxText),
		ServiceVersion: clean(s.Resource.String("service.version"), maxCode),
		Environment:    clean(EnvironmentOf(s), maxCode),
		ErrorType:      clean(s.Attrs.String("error.type"), maxCode),
	}
	if v := verdict.JudgeSpan(s); v.Entry {
		row.Entry, row.Answered, row.Exhausted = true, v.Answered, v.Exhausted
		row.Route = clean(verdict.RouteOf(s), maxText)
	}
	row.PID, _ = s.Resource.Int("process.pid")
	region := false
	for key := range s.Attrs {
		if !strings.HasPrefix(key, budgetattr.Prefix) {
			continue
		}
		i, known := factByKey[key]
		if !known {
			continue
		}
		v, ok := valueOf(s.Attrs, i)
		if !ok {
			dropped++
			continue
		}
		region = region || key == budgetattr.RegionKey
		row.Values = append(row.Values, v)
	}
	if place := clean(s.Resource.String("cloud.region"), maxCode); place != "" && !region {
		row.Values = append(row.Values, Value{Fact: factByKey[budgetattr.RegionKey], Text: place})
	}
	slices.SortFunc(row.Values, func(a, b Value) int { return a.Fact - b.Fact })
	for _, e := range s.Events {
		if e.Name == budgetattr.EventOpenChild && len(row.OpenChildren) < maxParts {
			row.OpenChildren = append(row.OpenChildren, OpenChild{
				Span:  clean(e.Attrs.String(budgetattr.OpenChildSpanIDKey), maxCode),
				Stage: clean(e.Attrs.String(budgetattr.OpenChildStageKey), maxCode),
				Peer:  clean(e.Attrs.String(budgetattr.OpenChildPeerKey), maxCode),
				Cause: clean(e.Attrs.String(budgetattr.OpenChildCauseKey), maxCode),
			})
		}
	}
	for _, l := range s.Links[:min(len(s.Links), maxParts)] {
		row.Links = append(row.Links, Link{Trace: l.Trace, Span: l.Span})
	}
	return row, dropped
}

// EnvironmentOf names the deployment environment of a span, by the name of the convention or its former one.
func EnvironmentOf(s *span.Span) string {
	return cmp.Or(s.Resource.String("deployment.environment.name"), s.Resource.String("deployment.environment"))
}

// ToSpan converts a row back, as far as a row tells: every deadline.* attribute, and what names the route, the peer and the
// process.
func (r *Row) ToSpan() *span.Span {
	s := &span.Span{
		Trace: r.Trace, ID: r.Span, Parent: r.Parent, Service: r.Service, Name: r.Name, Kind: r.Kind,
		Status: r.Status, StatusMessage: r.StatusMessage, Start: r.Start, End: r.Start + r.Duration,
		TraceState: traceState(r.Weight), Attrs: span.Attributes{}, Resource: span.Attributes{},
	}
	for _, v := range r.Values {
		v.put(s.Attrs)
	}
	put(s.Attrs, "http.route", r.Route)
	put(s.Attrs, "peer.service", r.Peer)
	put(s.Attrs, "error.type", r.ErrorType)
	put(s.Resource, "service.name", r.Service)
	put(s.Resource, "service.instance.id", r.Instance)
	put(s.Resource, "service.version", r.ServiceVersion)
	put(s.Resource, "host.name", r.Host)
	put(s.Resource, "deployment.environment.name", r.Environment)
	if r.PID != 0 {
		s.Resource["process.pid"] = r.PID
	}
	for _, c := range r.OpenChildren {
		e := span.Event{Name: budgetattr.EventOpenChild, Time: s.End, Attrs: span.Attributes{}}
		put(e.Attrs, budgetattr.OpenChildSpanIDKey, c.Span)
		put(e.Attrs, budgetattr.OpenChildStageKey, c.Stage)
		put(e.Attrs, budgetattr.OpenChildPeerKey, c.Peer)
		put(e.Attrs, budgetattr.OpenChildCauseKey, c.Cause)
		s.Events = append(s.Events, e)
	}
	for _, l := range r.Links {
		s.Links = append(s.Links, span.Link{Trace: l.Trace, Span: l.Span})
	}
	return s
}

func put(attrs span.Attributes, key, value string) {
	if value != "" {
		attrs[key] = value
	}
}

// Weight returns how many spans a sampled one stands for, from the OpenTelemetry entry of its trace state (ot=th:…); 1 where
// nothing is said. The threshold is a fraction of 2^56 as hex digits without trailing zeros.
func Weight(traceState string) float64 {
	for entry := range strings.SplitSeq(traceState, ",") {
		value, found := strings.CutPrefix(strings.TrimSpace(entry), "ot=")
		if !found {
			continue
		}
		for field := range strings.SplitSeq(value, ";") {
			digits, found := strings.CutPrefix(field, "th:")
			if !found || len(digits) == 0 || len(digits) > 14 {
				continue
			}
			threshold, err := strconv.ParseUint(digits+strings.Repeat("0", 14-len(digits)), 16, 64)
			if err != nil {
				continue
			}
			return math.Exp2(56) / (math.Exp2(56) - float64(threshold))
		}
	}
	return 1
}

// traceState is a trace state that tells the weight, as far as 56 bits do.
func traceState(weight float64) string {
	if !(weight > 1) {
		return ""
	}
	digits := fmt.Sprintf("%014x", min(uint64(math.Exp2(56)*(1-1/weight)), 1<<56-1))
	return "ot=th:" + strings.TrimRight(digits, "0")
}
