package api

import (
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/storage"
)

// settled is how long a span that was acknowledged may take until every question sees it.
const settled = 60 * time.Second

// watermark is the instant before which everything that was ingested is in an answer.
func (s *Server) watermark() *instant {
	at := instant(s.config.Now().Add(-settled).Truncate(time.Second))
	return &at
}

type windowAnswer struct {
	From   instant       `json:"from"`
	To     instant       `json:"to"`
	Bucket *span.Seconds `json:"bucket_s"`
}

// shapeWindow shows a window; a width of zero means that the rows have no buckets.
func shapeWindow(at page, width time.Duration) windowAnswer {
	answer := windowAnswer{From: instant(at.begin()), To: instant(at.end())}
	if width > 0 {
		bucket := span.SecondsOf(width)
		answer.Bucket = &bucket
	}
	return answer
}

// report is the envelope of every report.
type report[Row any] struct {
	Window    windowAnswer `json:"window"`
	Watermark *instant     `json:"watermark"`
	Rows      []Row        `json:"rows"`
	Next      *string      `json:"next"`
}

// cut takes the row that was asked for beyond the limit as the sign of a next page.
func cut[T any](rows []T, limit int, at page) ([]T, *string) {
	if len(rows) <= limit {
		return rows, nil
	}
	at.Offset += limit
	next := at.String()
	return rows[:limit], &next
}

type marginAnswer struct {
	report[marginRow]
	// Approximate: percentiles come from buckets of the rollups.
	Approximate bool `json:"approximate"`
	// Markers lie in the window, oldest first.
	Markers []storage.Marker `json:"markers"`
}

// maxMarkers bounds the markers beside a trend.
const maxMarkers = 200

type marginsAnswer struct {
	Requests uint64 `json:"requests"`
	// Seen counts requests themselves, not those that sampled ones stand for.
	Seen       uint64        `json:"seen"`
	WithBudget uint64        `json:"with_budget"`
	Answered   uint64        `json:"answered"`
	Late       uint64        `json:"late"`
	Exhausted  uint64        `json:"exhausted"`
	P05        *span.Seconds `json:"margin_p05_s"`
	P50        *span.Seconds `json:"margin_p50_s"`
	P95        *span.Seconds `json:"margin_p95_s"`
	UsedP50    *float64      `json:"used_p50"`
}

type marginBucket struct {
	At instant `json:"at"`
	marginsAnswer
}

type marginRow struct {
	Service string         `json:"service"`
	Route   string         `json:"route"`
	Buckets []marginBucket `json:"buckets"`
	marginsAnswer
	MissedRatio *float64      `json:"missed_ratio"`
	BudgetP50   *span.Seconds `json:"budget_p50_s"`
	WeekAgo     *weekAgo      `json:"week_ago"`
	Provisional bool          `json:"provisional"`
	// Trend needs days of rollups; nil until there are enough.
	Trend *marginTrend `json:"trend"`
}

type weekAgo struct {
	Requests    uint64        `json:"requests"`
	WithBudget  uint64        `json:"with_budget"`
	MissedRatio *float64      `json:"missed_ratio"`
	P05         *span.Seconds `json:"margin_p05_s"`
	P50         *span.Seconds `json:"margin_p50_s"`
}

const week = 7 * 24 * time.Hour

// margin answers with how much of its budget each route had left.
func (s *Server) margin(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, append([]string{"from", "to", "service", "route", "limit", "cursor"}, entryFilters...)...)
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.MarginQuestion{
		EntryFilter: p.entryFilter(),
		Window:      storage.Window{From: at.begin(), To: at.end()},
		Service:     p.name("service"), Route: p.name("route"), Limit: limit + 1, Skip: at.Offset,
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	width := bucketWidth(q.To.Sub(q.From))
	q, err := s.config.Store.PlanMargins(ctx, q, width)
	if err != nil {
		s.fail(c, err)
		return
	}
	routes, err := s.config.Store.Margins(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	routes, next := cut(routes, limit, at)
	answer := marginAnswer{
		report:      report[marginRow]{Window: shapeWindow(at, width), Watermark: s.watermark(), Rows: []marginRow{}, Next: next},
		Approximate: q.Approximate(),
	}
	answer.Markers, err = s.config.Store.Markers(ctx, storage.MarkerQuestion{Window: q.Window, Service: q.Service, Environment: q.Environment, Limit: maxMarkers})
	if err != nil {
		s.fail(c, err)
		return
	}
	slices.Reverse(answer.Markers)
	if len(routes) == 0 {
		c.JSON(http.StatusOK, answer)
		return
	}
	index := map[uint64]int{}
	for i, route := range routes {
		index[route.Key] = i
		q.Keys = append(q.Keys, route.Key)
		answer.Rows = append(answer.Rows, marginRow{
			Service: route.Service, Route: route.Route, Buckets: []marginBucket{}, marginsAnswer: shapeMargins(route.Margins),
			MissedRatio: rounded(route.MissedRatio()), BudgetP50: secondsOf(route.BudgetP50),
			Provisional: q.To.After(time.Time(*answer.Watermark)),
		})
	}
	buckets, err := s.config.Store.MarginBuckets(ctx, q, width)
	if err != nil {
		s.fail(c, err)
		return
	}
	for _, b := range buckets {
		if i, ok := index[b.Key]; ok {
			answer.Rows[i].Buckets = append(answer.Rows[i].Buckets, marginBucket{At: instant(b.At), marginsAnswer: shapeMargins(b.Margins)})
		}
	}
	earlier := q
	earlier.Window, earlier.Skip = q.Shift(-week), 0
	if earlier, err = s.config.Store.PlanMargins(ctx, earlier, width); err != nil {
		s.fail(c, err)
		return
	}
	before, err := s.config.Store.Margins(ctx, earlier)
	if err != nil {
		s.fail(c, err)
		return
	}
	for _, route := range before {
		if i, ok := index[route.Key]; ok {
			answer.Rows[i].WeekAgo = &weekAgo{
				Requests: route.Requests, WithBudget: route.WithBudget, MissedRatio: rounded(route.MissedRatio()),
				P05: secondsOf(route.P05), P50: secondsOf(route.P50),
			}
		}
	}
	if err := s.addTrends(ctx, q, answer.Rows); err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, answer)
}

func shapeMargins(m storage.Margins) marginsAnswer {
	return marginsAnswer{
		Requests: m.Requests, Seen: m.Seen, WithBudget: m.WithBudget, Answered: m.Answered, Late: m.Late, Exhausted: m.Exhausted,
		P05: secondsOf(m.P05), P50: secondsOf(m.P50), P95: secondsOf(m.P95), UsedP50: rounded(m.UsedP50),
	}
}

// secondsOf returns nil for nil.
func secondsOf(d *time.Duration) *span.Seconds {
	if d == nil {
		return nil
	}
	s := span.SecondsOf(*d)
	return &s
}

// rounded keeps six decimals of a ratio.
func rounded(f *float64) *float64 {
	if f == nil {
		return nil
	}
	r := math.Round(*f*1e6) / 1e6
	return &r
}

type serviceRow struct {
	Service    string   `json:"service"`
	Requests   uint64   `json:"requests"`
	WithBudget uint64   `json:"with_budget"`
	LastSeenAt instant  `json:"last_seen_at"`
	Routes     []string `json:"routes"`
	Stages     []string `json:"stages"`
	Peers      []string `json:"peers"`
}

// services answers with the services that were seen.
func (s *Server) services(c *gin.Context) {
	p := readParams(c.Request.URL.RawQuery, "from", "to", "service", "limit", "cursor")
	at, limit := p.window(s.config.Now()), p.limit()
	q := storage.ServiceQuestion{
		Window: storage.Window{From: at.begin(), To: at.end()}, Service: p.name("service"), Limit: limit + 1, Skip: at.Offset,
	}
	if p.problem != nil {
		p.problem.write(c)
		return
	}
	ctx, cancel := question(c)
	defer cancel()
	found, err := s.config.Store.Services(ctx, q)
	if err != nil {
		s.fail(c, err)
		return
	}
	found, next := cut(found, limit, at)
	answer := report[serviceRow]{Window: shapeWindow(at, 0), Watermark: s.watermark(), Rows: []serviceRow{}, Next: next}
	for _, service := range found {
		answer.Rows = append(answer.Rows, serviceRow{
			Service: service.Name, Requests: service.Requests, WithBudget: service.WithBudget, LastSeenAt: instant(service.LastSeen),
			Routes: service.Routes, Stages: service.Stages, Peers: service.Peers,
		})
	}
	c.JSON(http.StatusOK, answer)
}
