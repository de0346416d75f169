package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/fanout"
	"github.com/laxity-dev/laxity/sdk/step"
)

// documents is what retrieval finds, best first when rerank took part.
type documents struct {
	Documents []string `json:"documents"`
	Degraded  []string `json:"degraded,omitempty"`
}

// retrieval asks the shards of the index at once and has what it finds ordered by rerank, without which it answers in raw
// order.
type retrieval struct {
	*service
	index, rerank *service
	order         *step.Step[documents, documents]
	// grown is what collecting a report takes on top of its usual work.
	grown func(number uint64) time.Duration
}

func newRetrieval(s, index, rerank *service, grows time.Duration) {
	r := &retrieval{service: s, index: index, rerank: rerank, grown: collectGrowth}
	if began := time.Now(); grows > 0 {
		r.grown = func(uint64) time.Duration { return time.Duration(time.Since(began).Minutes() * float64(grows)) }
	}
	r.order = step.Optional("order", r.ordered, func(raw documents) documents { return raw }, step.Terms{
		Expected: s.timing.work(orderTakes), Variability: s.timing.limit(orderVaries),
	})
	s.calls(stageShard, stageRerank)
	s.handle("/search", s.inherited(), r.search)
	s.handle("/collect", s.inherited(), r.collect)
}

func (s *retrieval) search(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	found, err := s.find(ctx, q)
	if err != nil {
		fail(w, err)
		return
	}
	found.Degraded = step.Degraded(ctx)
	writeJSON(w, http.StatusOK, found)
}

func (s *retrieval) find(ctx context.Context, q question) (documents, error) {
	if err := s.spend(ctx, stageRetrieval.name, searchWork); err != nil {
		return documents{}, err
	}
	found, err := s.askShards(ctx, q)
	if err != nil {
		return documents{}, err
	}
	if has(ctx, StepSkipped) {
		s.dawdle(ctx)
	}
	r, err := step.RunResult(ctx, s.order, found)
	if err == nil && r.Attempts > 0 && has(ctx, StepSkipped) && errors.Is(r.Err, budget.ErrExhausted) {
		s.faults.took(ctx, StepSkipped, s.name, "skipped the order of the documents, which would no longer fit")
	}
	return r.Value, err
}

// askShards asks all shards and takes what enough of them give in time.
func (s *retrieval) askShards(ctx context.Context, q question) (documents, error) {
	branches := make([]fanout.Branch[documents], len(shards))
	for i, name := range shards {
		branches[i] = fanout.Branch[documents]{Name: "shard." + name, Do: func(ctx context.Context) (documents, error) {
			var part documents
			err := s.call(ctx, stageShard, s.index, "/"+name, q, &part)
			return part, err
		}}
	}
	var found documents
	results, err := fanout.Collect(ctx, fanout.Plan{
		Deadline: s.timing.limit(shardsWait), Margin: s.timing.limit(shardsLeave), Quorum: shardQuorum,
	}, branches...)
	for _, r := range results {
		found.Documents = append(found.Documents, r.Value.Documents...)
	}
	return found, err
}

func (s *retrieval) ordered(ctx context.Context, raw documents) (documents, error) {
	var ordered documents
	err := s.call(ctx, stageRerank, s.rerank, pathOrder, raw, &ordered)
	return ordered, err
}

// dawdle works until the order of the documents no longer fits.
func (s *retrieval) dawdle(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok {
		_ = work(ctx, time.Until(end)-s.timing.limit(orderVaries/2))
	}
}

func (s *retrieval) collect(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	number := requestFrom(ctx).number
	took := latency(number, stageCollect.name, stageCollect.median) + s.grown(number)
	if err := work(ctx, s.timing.work(took)); err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, documents{Documents: shards})
}

// index holds the documents, in shards.
type index struct{ *service }

func newIndex(s *service) {
	for i, name := range shards {
		s.handle("/"+name, s.inherited(), func(w http.ResponseWriter, r *http.Request) { index{s}.find(w, r, i) })
	}
}

func (s index) find(w http.ResponseWriter, r *http.Request, shard int) {
	ctx := r.Context()
	straggles := shard == len(shards)-1 && has(ctx, ShardStraggler)
	var err error
	if straggles {
		err = work(ctx, s.timing.limit(3*shardsWait))
	} else {
		err = s.spend(ctx, stageShard.name+shards[shard], stageShard.median)
	}
	if err != nil {
		if straggles {
			s.faults.took(ctx, ShardStraggler, s.name, fmt.Sprintf("shard %s did not answer in time", shards[shard]))
		}
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, documents{Documents: []string{shards[shard]}})
}

const pathOrder = "/order"

// rerank orders documents.
type rerank struct{ *service }

func newRerank(s *service) {
	s.handle(pathOrder, s.inherited(), rerank{s}.order)
}

func (s rerank) order(w http.ResponseWriter, r *http.Request) {
	var in documents
	if !readJSON(w, r, &in) {
		return
	}
	ctx := r.Context()
	if err := s.rank(ctx); err != nil {
		fail(w, err)
		return
	}
	if n := len(in.Documents); n > 1 {
		in.Documents[0], in.Documents[n-1] = in.Documents[n-1], in.Documents[0]
	}
	writeJSON(w, http.StatusOK, in)
}

// rank is the work of ordering. With ignored_cancel it takes longer than the caller allows and never looks at the signal.
func (s rerank) rank(ctx context.Context) error {
	if !has(ctx, IgnoredCancel) {
		return s.spend(ctx, stageRerank.name, stageRerank.median)
	}
	time.Sleep(s.timing.limit(stageRerank.cap * 5 / 2))
	if ctx.Err() != nil {
		s.faults.took(ctx, IgnoredCancel, s.name, "worked on after the caller had given up")
	}
	return nil
}
