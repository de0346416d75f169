package api

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/trend"
	"github.com/laxity-dev/laxity/storage"
)

type attributionAnswer struct {
	rowsAnswer[attributionRow]
	// Before is the window compared with; Marker what lies between the two, if a marker was asked for.
	Before windowAnswer    `json:"before"`
	Marker *storage.Marker `json:"marker"`
}

type attributionRow struct {
	Service string       `json:"service"`
	Route   string       `json:"route"`
	Before  sampleAnswer `json:"before"`
	After   sampleAnswer `json:"after"`
	// Change of the mean margin, Low and High its 95 % interval; nil without answers in both windows.
	Change *span.Seconds `json:"change_s"`
	Low    *span.Seconds `json:"change_low_s"`
	High   *span.Seconds `json:"change_high_s"`
	// Clear: the interval leaves zero out.
	Clear bool         `json:"clear"`
	Parts []changePart `json:"parts"`
}

type sampleAnswer struct {
	WithBudget  uint64        `json:"with_budget"`
	Answered    uint64        `json:"answered"`
	MissedRatio *float64      `json:"missed_ratio"`
	Mean        *span.Seconds `json:"margin_mean_s"`
	P05         *span.Seconds `json:"margin_p05_s"`
	P50         *span.Seconds `json:"margin_p50_s"`
	BudgetP50   *span.Seconds `json:"budget_p50_s"`
}

// changePart is what one thing did to the mean margin: less than zero took from it.
type changePart struct {
	Part   string        `json:"part"`
	Stage  string        `json:"stage"`
	Peer   string        `json:"peer"`
	Before *span.Seconds `json:"before_s"`
	After  *span.Seconds `json:"after_s"`
	Change span.Seconds  `json:"change_s"`
	Share  *float64      `json:"share"`
}

// defaultReach is how far a comparison around a marker looks to both sides.
const defaultReach = 24 * time.Hour

// attribution answers with why margins moved between two windows, the largest change first.
func (s *Server) attribution(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "from", "to", "before_from", "before_to", "marker", "reach", "service", "route", "environment", "version",
		"limit", "cursor")
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.ComparisonQuestion{
		Window: storage.Window{From: at.begin(), To: at.end()}, Service: p.name("service"), Route: p.name("route"),
		Environment: p.label("environment"), Version: p.label("version"),
	}
	q.Before = p.before(q.Window, s.config.Now())
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	marker, err := s.around(ctx, p, &q)
	if err != nil {
		s.fail(c, err)
		return
	}
	until, err := s.judgedUntil(ctx)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, err := s.config.Store.Compare(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	rows := make([]attributionRow, 0, len(found))
	for _, r := range found {
		rows = append(rows, shapeComparison(r))
	}
	size := func(r attributionRow) float64 {
		if r.Change == nil {
			return -1
		}
		return math.Abs(float64(*r.Change))
	}
	slices.SortStableFunc(rows, func(a, b attributionRow) int { return cmp.Compare(size(b), size(a)) })
	rows = rows[min(at.Offset, len(rows)):]
	rows, next := cut(rows, limit, at)
	at.From, at.To = q.From.UnixNano(), q.To.UnixNano()
	c.JSON(http.StatusOK, attributionAnswer{
		rowsAnswer: rowsAnswer[attributionRow]{Window: shapeWindow(at, 0), Watermark: until, Provisional: provisional(q.Window, until),
			Approximate: len(found) > 0 && found[0].Approximate, Rows: rows, Next: next},
		Before: windowAnswer{From: instant(q.Before.From), To: instant(q.Before.To)}, Marker: marker,
	})
}

// before is the window compared with: the one asked for, else the same hours of the last week, or weeks, that are all before it.
func (p *params) before(w storage.Window, now time.Time) storage.Window {
	from, to := p.values.Get("before_from"), p.values.Get("before_to")
	if from == "" && to == "" {
		before := w.Shift(-week * max(1, (w.To.Sub(w.From)+week-1)/week))
		return storage.Window{From: later(before.From, epoch), To: later(before.To, epoch)}
	}
	if from == "" || to == "" {
		p.fail(invalid("before_from", "needs before_to, and before_to needs it", "give both ends of the window to compare with, or none for the week before"))
		return storage.Window{}
	}
	begin, end, bad := parseWindow(from, to, now)
	if bad != nil {
		bad.Parameter = "before_" + bad.Parameter
		p.fail(bad)
	}
	return storage.Window{From: begin, To: end}
}

// around turns the question to the time before and after a marker, if one is asked for.
func (s *Server) around(ctx context.Context, p *params, q *storage.ComparisonQuestion) (*storage.Marker, error) {
	id, reach := p.values.Get("marker"), defaultReach
	if id == "" {
		if p.values.Get("reach") != "" {
			return nil, invalid("reach", "says how far to look around a marker", "give the marker too")
		}
		return nil, nil
	}
	for _, other := range []string{"from", "to", "before_from", "before_to"} {
		if p.values.Get(other) != "" {
			return nil, invalid(other, "cannot go with marker", "say with reach=24h how far to look before and after the marker")
		}
	}
	if text := p.values.Get("reach"); text != "" {
		var err error
		if reach, err = parseLength(text); err != nil || reach <= 0 || reach > 365*24*time.Hour {
			return nil, invalid("reach", "no length up to 365d", "use a length such as 6h")
		}
	}
	marker, err := s.markerOf(ctx, id)
	if err != nil {
		return nil, err
	}
	now := s.config.Now()
	if !marker.At.Before(now) {
		return nil, invalid("marker", "lies ahead", "wait for requests after it")
	}
	q.Before = storage.Window{From: marker.At.Add(-reach), To: marker.At}
	q.Window = storage.Window{From: marker.At, To: marker.At.Add(reach)}
	if q.To.After(now) {
		q.To = now
	}
	q.Before.From = later(q.Before.From, epoch)
	return marker, nil
}

// Nothing is kept from before 1970.
var epoch = time.Unix(0, 0).UTC()

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func shapeComparison(r storage.RouteComparison) attributionRow {
	row := attributionRow{
		Service: r.Service, Route: r.Route, Before: shapeSample(r.Before, r.MeanMargin(0)), After: shapeSample(r.After, r.MeanMargin(1)),
		Parts: []changePart{},
	}
	parts, change := trend.Attribute(r.Makeup[0], r.Makeup[1])
	if parts == nil {
		return row
	}
	row.Change = ofNanos(change)
	if e := r.ChangeError(); e != nil {
		const z = 1.959963984540054
		low, high := change/1e9-z**e, change/1e9+z**e
		row.Low, row.High = ofNanos(low*1e9), ofNanos(high*1e9)
		row.Clear = low > 0 || high < 0
	}
	for _, part := range parts {
		at := storage.PlaceOf(part.Name)
		shaped := changePart{Part: partName(at.Kind), Stage: at.Stage, Peer: at.Peer, Change: *ofNanos(part.Change)}
		if part.Name != trend.PartMix && part.Name != trend.PartRest {
			shaped.Before, shaped.After = ofNanos(part.Before), ofNanos(part.After)
		}
		if change != 0 {
			share := part.Change/change + 0 // a zero without a sign
			shaped.Share = rounded(&share)
		}
		row.Parts = append(row.Parts, shaped)
	}
	return row
}

// ofNanos takes nanoseconds.
func ofNanos(nanos float64) *span.Seconds {
	s := span.Seconds(math.Round(nanos))
	return &s
}

func shapeSample(s storage.MarginSample, mean *float64) sampleAnswer {
	answer := sampleAnswer{
		WithBudget: s.WithBudget, Answered: s.Seen, MissedRatio: rounded(s.MissedRatio()), P05: secondsOf(s.P05), P50: secondsOf(s.P50),
		BudgetP50: secondsOf(s.BudgetP50),
	}
	if mean != nil {
		answer.Mean = ofNanos(*mean * 1e9)
	}
	return answer
}
