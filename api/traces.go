package api

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/classify"
	"github.com/laxity-dev/laxity/internal/render"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/storage"
)

// load returns what is kept of the trace in the path.
func (s *Server) load(ctx context.Context, c *gin.Context) (*storage.Trace, error) {
	id, bad := parseTraceID(c.Param("id"))
	if bad != nil {
		return nil, bad
	}
	traces, err := s.config.Store.Traces(ctx, []span.TraceID{id}, storage.SpansPerTrace)
	if err != nil {
		return nil, err
	}
	trace := traces[id]
	if trace == nil {
		return nil, notFound("no span of trace "+id.String()+" is kept",
			"check the id; spans that were sent just now arrive within seconds, raw spans are kept 7 days and hops 30 days from ingest")
	}
	annotate(s.config.Store.Classifier(), trace)
	return trace, nil
}

// annotate derives what spans written by somebody else's collector do not say; on ours it changes nothing.
func annotate(classifier *classify.Classifier, trace *storage.Trace) {
	for i := range trace.Spans {
		classifier.Annotate(&trace.Spans[i])
	}
}

// deleteTrace deletes what is kept of one trace. A trace that is not there is deleted already.
func (s *Server) deleteTrace(c *gin.Context) {
	id, bad := parseTraceID(c.Param("id"))
	if bad != nil {
		bad.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	if err := s.config.Store.DeleteTrace(ctx, id); err != nil {
		s.fail(c, err)
		return
	}
	s.config.Logger.Info("trace deleted", "trace", id)
	c.Status(http.StatusNoContent)
}

type traceAnswer struct {
	TraceID   string         `json:"trace_id"`
	StartedAt instant        `json:"started_at"`
	Duration  span.Seconds   `json:"duration_s"`
	Source    storage.Source `json:"source"`
	Truncated bool           `json:"truncated"`
	Missing   *string        `json:"missing"`
	Spans     []spanAnswer   `json:"spans"`
}

type spanAnswer struct {
	SpanID        string            `json:"span_id"`
	ParentSpanID  *string           `json:"parent_span_id"`
	Service       string            `json:"service"`
	Name          string            `json:"name"`
	Scope         string            `json:"scope"`
	Kind          string            `json:"kind"`
	Status        string            `json:"status"`
	StatusMessage string            `json:"status_message"`
	At            span.Seconds      `json:"at_s"`
	StartedAt     instant           `json:"started_at"`
	Duration      span.Seconds      `json:"duration_s"`
	Entry         bool              `json:"entry"`
	Route         string            `json:"route"`
	Stage         string            `json:"stage"`
	Attributes    map[string]string `json:"attributes"`
	Resource      map[string]string `json:"resource"`
	Events        []eventAnswer     `json:"events"`
	Links         []linkAnswer      `json:"links"`
}

type eventAnswer struct {
	Name       string            `json:"name"`
	At         span.Seconds      `json:"at_s"`
	Attributes map[string]string `json:"attributes"`
}

type linkAnswer struct {
	TraceID    string            `json:"trace_id"`
	SpanID     string            `json:"span_id"`
	Attributes map[string]string `json:"attributes"`
}

// missingInHops says what a trace whose raw spans are gone cannot show.
const missingInHops = "the raw spans are gone or were never kept: spans inside a service, attributes beside deadline.*, events and links are missing"

// trace answers with the spans of one trace.
func (s *Server) trace(c *gin.Context) {
	if p := readParams(c.Request.URL.RawQuery); p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	trace, err := s.load(ctx, c)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, shapeTrace(trace))
}

func shapeTrace(trace *storage.Trace) traceAnswer {
	start, end := trace.Spans[0].Start, trace.Spans[0].End
	for i := range trace.Spans {
		start, end = min(start, trace.Spans[i].Start), max(end, trace.Spans[i].End)
	}
	answer := traceAnswer{
		TraceID: trace.ID.String(), StartedAt: instantOf(start), Duration: span.Seconds(end - start),
		Source: trace.Source, Truncated: trace.Truncated, Spans: make([]spanAnswer, len(trace.Spans)),
	}
	if trace.Source == storage.SourceHops {
		text := missingInHops
		answer.Missing = &text
	}
	for i := range trace.Spans {
		answer.Spans[i] = shapeSpan(&trace.Spans[i], start)
	}
	return answer
}

func shapeSpan(s *span.Span, traceStart int64) spanAnswer {
	answer := spanAnswer{
		SpanID: s.ID.String(), Service: s.Service, Name: s.Name, Scope: s.Scope,
		Kind: s.Kind.String(), Status: s.Status.String(), StatusMessage: s.StatusMessage,
		At: span.Seconds(s.Start - traceStart), StartedAt: instantOf(s.Start), Duration: span.Seconds(s.Duration()),
		Entry: verdict.JudgeSpan(s).Entry, Stage: verdict.StageOf(s),
		Attributes: texts(s.Attrs), Resource: texts(s.Resource), Events: []eventAnswer{}, Links: []linkAnswer{},
	}
	if answer.Entry {
		answer.Route = verdict.RouteOf(s)
	}
	if !s.Parent.IsZero() {
		parent := s.Parent.String()
		answer.ParentSpanID = &parent
	}
	for _, e := range s.Events {
		answer.Events = append(answer.Events, eventAnswer{Name: e.Name, At: span.Seconds(e.Time - traceStart), Attributes: texts(e.Attrs)})
	}
	for _, l := range s.Links {
		answer.Links = append(answer.Links, linkAnswer{TraceID: l.Trace.String(), SpanID: l.Span.String(), Attributes: texts(l.Attrs)})
	}
	return answer
}

func texts(attrs span.Attributes) map[string]string {
	answer := make(map[string]string, len(attrs))
	for key := range attrs {
		answer[key] = attrs.String(key)
	}
	return answer
}

// judge returns the statement of the trace in the path.
func (s *Server) judge(ctx context.Context, c *gin.Context, p *params) (*verdict.Statement, error) {
	entry := p.entry()
	if p.problem != nil {
		return nil, p.problem
	}
	trace, err := s.load(ctx, c)
	if err != nil {
		return nil, err
	}
	if !entry.IsZero() && !hasSpan(trace, entry) {
		return nil, notFound("the trace has no span "+entry.String(), "take the id of a span of this trace, or leave entry out")
	}
	opts, err := s.config.Store.Learned(ctx, trace.Spans, verdict.Options{Entry: entry})
	if err != nil {
		return nil, err
	}
	statement := verdict.Judge(trace.Spans, opts)
	switch {
	case trace.Source == storage.SourceHops:
		statement.Missing = missingInHops
	case trace.Truncated:
		statement.Missing = "the trace has more than " + strconv.Itoa(storage.SpansPerTrace) + " spans; the earliest are judged"
	}
	return statement, nil
}

func hasSpan(trace *storage.Trace, id span.ID) bool {
	for i := range trace.Spans {
		if trace.Spans[i].ID == id {
			return true
		}
	}
	return false
}

// statement answers with one trace as a statement of account.
func (s *Server) statement(c *gin.Context) {
	ctx, cancel := question(c)
	defer cancel()
	statement, err := s.judge(ctx, c, readParams(c.Request.URL.RawQuery, "entry"))
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, statement)
}

type incidentAnswer struct {
	TraceID   string             `json:"trace_id"`
	Version   string             `json:"version"`
	WrittenAt instant            `json:"written_at"`
	Statement *verdict.Statement `json:"statement"`
	Markdown  string             `json:"markdown"`
}

// incident answers with one trace as a record for a post-mortem.
func (s *Server) incident(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "entry", "format")
	format := oneOf(p, "format", "md", "json")
	ctx, cancel := question(c)
	defer cancel()
	statement, err := s.judge(ctx, c, p)
	if err != nil {
		s.fail(c, err)
		return
	}
	var markdown bytes.Buffer
	if err := render.Markdown(&markdown, statement); err != nil {
		s.fail(c, err)
		return
	}
	if format != "json" {
		c.Data(http.StatusOK, "text/markdown; charset=utf-8", markdown.Bytes())
		return
	}
	c.JSON(http.StatusOK, incidentAnswer{
		TraceID: statement.TraceID, Version: s.config.Version, WrittenAt: instant(s.config.Now().Truncate(time.Millisecond)),
		Statement: statement, Markdown: markdown.String(),
	})
}
