package storage

import (
	"context"
	_ "embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/laxity-dev/laxity/internal/limit"
	"github.com/laxity-dev/laxity/internal/span"
	"github.com/laxity-dev/laxity/internal/verdict"
)

// Bounds of what is asked to find limits: edges, those of them that look like it, and calls of each of these.
const (
	maxEdges = 20_000
	maxPiles = 200
	maxCalls = 5_000
)

// FoundLimit is a hidden limit as it is kept.
type FoundLimit struct {
	limit.Limit
	// Key is the edge with its peer named as the calls themselves do; in Edge the callee's spans name it, if there are any.
	Key verdict.Edge
	// SeenAt is when the last call met the limit.
	SeenAt time.Time
}

// name sets how both sides name the peer.
func (l *FoundLimit) name(key verdict.Edge, peer string) {
	l.Key, l.Edge, l.Address = key, key, ""
	if l.Edge.Peer = peer; peer != key.Peer {
		l.Address = key.Peer
	}
}

// edgeLengths are the lengths of the calls of one edge, whose peer is named as the calls do.
type edgeLengths struct {
	verdict.Edge
	limit.Lengths
}

//go:embed queries/limit_lengths.sql
var limitLengthsSQL string

func (db *DB) lengths(ctx context.Context, w Window) ([]edgeLengths, error) {
	var answer []edgeLengths
	err := db.ask(ctx, limitLengthsSQL, func(rows driver.Rows) error {
		e := edgeLengths{Lengths: limit.Lengths{Buckets: map[int32]int{}}}
		var buckets []int32
		var counts []uint64
		var written uint64
		var on [len(limit.Grids)]uint64
		if err := rows.Scan(&e.Caller, &e.Peer, &e.Operation, &buckets, &counts, &written, &on[0], &on[1], &on[2], &on[3]); err != nil {
			return err
		}
		for i, b := range buckets {
			e.Buckets[b] = int(counts[i])
		}
		var whole [len(limit.Grids)]int
		for i := range on {
			whole[i] = int(on[i])
		}
		e.Grid = limit.OnGrid(whole, int(written))
		answer = append(answer, e)
		return nil
	}, w.arrival(map[string]any{"limit": maxEdges}))
	return answer, question("lengths of calls", err)
}

//go:embed queries/limit_calls.sql
var limitCallsSQL string

// reaching answers with calls of one edge that lasted at least so long, and when the last of them began.
func (db *DB) reaching(ctx context.Context, w Window, edge verdict.Edge, length int64) (calls []verdict.Call, err error) {
	err = db.ask(ctx, limitCallsSQL, func(rows driver.Rows) error {
		c := verdict.Call{Edge: edge}
		var trace, callee string
		var failed, timedOut uint8
		if err := rows.Scan(&trace, &c.Start, &c.Length, &failed, &timedOut, &callee, &c.CalleeStart, &c.CalleeLength); err != nil {
			return err
		}
		if c.Trace, err = span.ParseTraceID(trace); err != nil {
			return err
		}
		c.Failed, c.TimedOut, c.HasCallee = failed != 0, timedOut != 0, callee != ""
		if callee != "" {
			c.Edge.Peer = callee
		}
		calls = append(calls, c)
		return nil
	}, w.arrival(map[string]any{"service": edge.Caller, "peer": edge.Peer, "place": edge.Operation, "length": length, "limit": maxCalls}))
	return calls, question("calls at a limit", err)
}

// FindLimits finds the hidden limits in what arrived in a window. Looked are the edges of which enough calls arrived to say that
// they have a limit or none, with their peers as the calls name them.
func (db *DB) FindLimits(ctx context.Context, w Window) (found []FoundLimit, looked map[verdict.Edge]bool, err error) {
	edges, err := db.lengths(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	looked = make(map[verdict.Edge]bool, len(edges))
	piles := 0
	for _, e := range edges {
		looked[e.Edge] = true
		pile, ok := limit.PileOf(e.Lengths)
		if !ok || piles == maxPiles {
			continue
		}
		piles++
		calls, err := db.reaching(ctx, w, e.Edge, pile.From)
		if err != nil {
			return nil, nil, err
		}
		l := FoundLimit{}
		if l.Limit, ok = limit.Judge(namedBySpans(e.Edge, calls), pile, calls); !ok {
			continue
		}
		l.name(e.Edge, l.Edge.Peer)
		for i := range calls {
			if at := time.Unix(0, calls[i].Start).UTC(); calls[i].Length <= pile.To && at.After(l.SeenAt) {
				l.SeenAt = at
			}
		}
		found = append(found, l)
	}
	return found, looked, nil
}

// namedBySpans names the peer of an edge by the spans of most of the callees.
func namedBySpans(edge verdict.Edge, calls []verdict.Call) verdict.Edge {
	counts := map[string]int{}
	best := ""
	for i := range calls {
		if !calls[i].HasCallee {
			continue
		}
		peer := calls[i].Edge.Peer
		if counts[peer]++; best == "" || counts[peer] > counts[best] || counts[peer] == counts[best] && peer < best {
			best = peer
		}
	}
	if best != "" {
		edge.Peer = best
	}
	return edge
}

//go:embed queries/limits.sql
var limitsSQL string

// KeptLimits answers with the hidden limits that are kept.
func (db *DB) KeptLimits(ctx context.Context) ([]FoundLimit, error) {
	return db.keptLimits(ctx, ReportQuestion{Window: Window{To: time.Unix(1<<33, 0)}, Limit: maxEdges})
}

func (db *DB) keptLimits(ctx context.Context, q ReportQuestion) ([]FoundLimit, error) {
	var answer []FoundLimit
	parameters := q.parameters()
	parameters["from"] = max(q.From.UnixNano(), 0)
	if q.From.IsZero() {
		parameters["from"] = int64(0)
	}
	err := db.ask(ctx, limitsSQL, func(rows driver.Rows) error {
		var l FoundLimit
		var key verdict.Edge
		var peer string
		var counts [7]uint64
		var lengths [5]int64
		var seen int64
		err := rows.Scan(&key.Caller, &key.Peer, &key.Operation, &peer, &lengths[0], &lengths[1], &lengths[2], &l.Round, &counts[0],
			&counts[1], &counts[2], &counts[3], &counts[4], &counts[5], &lengths[3], &lengths[4], &counts[6], &l.Confidence, &l.Examples, &seen)
		l.name(key, peer)
		l.At, l.From, l.To, l.After, l.Estimate = time.Duration(lengths[0]), time.Duration(lengths[1]), time.Duration(lengths[2]),
			time.Duration(lengths[3]), time.Duration(lengths[4])
		l.Calls, l.Cut, l.Beyond, l.Outlived = int(counts[0]), int(counts[1]), int(counts[2]), int(counts[3])
		l.TimedOut, l.Failed, l.Past = int(counts[4]), int(counts[5]), int(counts[6])
		l.SeenAt = time.Unix(0, seen).UTC()
		answer = append(answer, l)
		return err
	}, parameters)
	return answer, question("limits", err)
}

// WriteLimits writes limits that were found and takes back those that no longer hold.
func (db *DB) WriteLimits(ctx context.Context, found, taken []FoundLimit) error {
	rows := append(append(make([]FoundLimit, 0, len(found)+len(taken)), taken...), found...)
	if len(rows) == 0 {
		return nil
	}
	deleted := make([]uint8, len(rows))
	for i := range taken {
		deleted[i] = 1
	}
	text := func(f func(*FoundLimit) string) []string { return each(rows, f) }
	lengths := func(f func(*FoundLimit) time.Duration) []int64 {
		return each(rows, func(l *FoundLimit) int64 { return int64(f(l)) })
	}
	counts := func(f func(*FoundLimit) int) []uint64 {
		return each(rows, func(l *FoundLimit) uint64 { return uint64(f(l)) })
	}
	return question("limits", db.insert(ctx, "limits", []column{
		{"caller", "String", text(func(l *FoundLimit) string { return l.Edge.Caller })},
		{"address", "String", text(func(l *FoundLimit) string { return l.Key.Peer })},
		{"operation", "String", text(func(l *FoundLimit) string { return l.Edge.Operation })},
		{"peer", "String", text(func(l *FoundLimit) string { return l.Edge.Peer })},
		{"limit_ns", "Int64", lengths(func(l *FoundLimit) time.Duration { return l.At })},
		{"from_ns", "Int64", lengths(func(l *FoundLimit) time.Duration { return l.From })},
		{"to_ns", "Int64", lengths(func(l *FoundLimit) time.Duration { return l.To })},
		{"round", "Bool", each(rows, func(l *FoundLimit) bool { return l.Round })},
		{"calls", "UInt64", counts(func(l *FoundLimit) int { return l.Calls })},
		{"cut", "UInt64", counts(func(l *FoundLimit) int { return l.Cut })},
		{"beyond", "UInt64", counts(func(l *FoundLimit) int { return l.Beyond })},
		{"outlived", "UInt64", counts(func(l *FoundLimit) int { return l.Outlived })},
		{"timed_out", "UInt64", counts(func(l *FoundLimit) int { return l.TimedOut })},
		{"failed", "UInt64", counts(func(l *FoundLimit) int { return l.Failed })},
		{"after_ns", "Int64", lengths(func(l *FoundLimit) time.Duration { return l.After })},
		{"estimate_ns", "Int64", lengths(func(l *FoundLimit) time.Duration { return l.Estimate })},
		{"past", "UInt64", counts(func(l *FoundLimit) int { return l.Past })},
		{"confidence", "Float64", each(rows, func(l *FoundLimit) float64 { return l.Confidence })},
		{"examples", "Array(String)", each(rows, func(l *FoundLimit) []string { return append([]string{}, l.Examples...) })},
		{"seen_at", "DateTime64(9, 'UTC')", each(rows, func(l *FoundLimit) time.Time { return l.SeenAt })},
		{"is_deleted", "UInt8", deleted},
	}))
}

//go:embed queries/limit_traces.sql
var limitTracesSQL string

// LimitTraces answers with the newest traces in which calls ended at a limit.
func (db *DB) LimitTraces(ctx context.Context, l FoundLimit, limit int) ([]Touched, error) {
	return db.touched(ctx, "traces at a limit", limitTracesSQL, map[string]any{
		"service": l.Edge.Caller, "peer": l.Key.Peer, "place": l.Edge.Operation, "low": int64(l.From), "high": int64(l.To), "limit": limit,
	})
}

// touched answers with traces and how much they hold.
func (db *DB) touched(ctx context.Context, noun, sql string, parameters map[string]any) ([]Touched, error) {
	var answer []Touched
	err := db.ask(ctx, sql, func(rows driver.Rows) error {
		var id string
		var t Touched
		if err := rows.Scan(&id, &t.Spans); err != nil {
			return err
		}
		var err error
		t.Trace, err = span.ParseTraceID(id)
		answer = append(answer, t)
		return err
	}, parameters)
	return answer, question(noun, err)
}

// LimitRow is one hidden limit.
type LimitRow struct {
	Service   string       `json:"service"`
	Peer      string       `json:"peer"`
	Operation string       `json:"operation"`
	Limit     span.Seconds `json:"limit_s"`
	// From and To are the shortest and the longest of the calls that were cut.
	From       span.Seconds `json:"from_s"`
	To         span.Seconds `json:"to_s"`
	Calls      int          `json:"calls"`
	Cut        int          `json:"cut"`
	Beyond     int          `json:"beyond"`
	Outlived   int          `json:"outlived"`
	TimedOut   int          `json:"timed_out"`
	Failed     int          `json:"failed"`
	After      span.Seconds `json:"after_s"`
	Estimate   span.Seconds `json:"after_estimate_s"`
	Confidence float64      `json:"confidence"`
	SeenAt     time.Time    `json:"last_seen_at"`
	Examples   []string     `json:"example_trace_ids"`
}

// Limits answers which timeouts nobody recorded.
func (db *DB) Limits(ctx context.Context, q ReportQuestion) ([]LimitRow, error) {
	kept, err := db.keptLimits(ctx, q)
	rows := make([]LimitRow, len(kept))
	for i := range kept {
		l := &kept[i]
		rows[i] = LimitRow{
			Service: l.Edge.Caller, Peer: l.Edge.Peer, Operation: l.Edge.Operation, Limit: span.SecondsOf(l.At), From: span.SecondsOf(l.From),
			To: span.SecondsOf(l.To), Calls: l.Calls, Cut: l.Cut, Beyond: l.Beyond, Outlived: l.Outlived, TimedOut: l.TimedOut, Failed: l.Failed,
			After: span.SecondsOf(l.After), Estimate: span.SecondsOf(l.Estimate), Confidence: l.Confidence, SeenAt: l.SeenAt,
			Examples: append([]string{}, l.Examples...),
		}
	}
	return rows, err
}
