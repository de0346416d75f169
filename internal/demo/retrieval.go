package demo

import (
	"context"
	"net/http"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
)

// documents is what retrieval finds, best first when rerank took part.
type documents struct {
	Documents []string `json:"documents"`
	Degraded  []string `json:"degraded,omitempty"`
}

// retrieval finds documents and has them ordered by rerank, without which it answers in raw order.
type retrieval struct {
	*service
	rerank *service
}

func newRetrieval(s, rerank *service) {
	r := &retrieval{s, rerank}
	s.calls(stageRerank)
	s.handle("/search", s.inherited(), r.search)
	s.handle("/collect", s.inherited(), r.collect)
}

func (s *retrieval) search(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	if err := s.spend(ctx, stageRetrieval.name, stageRetrieval.median); err != nil {
		fail(w, err)
		return
	}
	found := documents{Documents: []string{"handbook", "release notes", "tickets"}}
	var ordered documents
	err := s.call(ctx, stageRerank, s.rerank, "/order", found, &ordered)
	switch {
	case err == nil:
		found.Documents = ordered.Documents
	case ctx.Err() != nil:
		fail(w, err)
		return
	default:
		found.Degraded = append(found.Degraded, stageRerank.name)
		budget.FromContext(ctx).Degrade(stageRerank.name)
	}
	writeJSON(w, http.StatusOK, found)
}

func (s *retrieval) collect(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	number := requestFrom(ctx).number
	took := latency(number, stageCollect.name, stageCollect.median) + collectGrowth(number)
	if err := work(ctx, s.timing.work(took)); err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, documents{Documents: []string{"handbook", "release notes", "tickets"}})
}

// rerank orders documents.
type rerank struct{ *service }

func newRerank(s *service) {
	s.handle("/order", s.inherited(), rerank{s}.order)
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
