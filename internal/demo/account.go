package demo

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// accountService reads accounts for three callers: who is it, what do they like, what may they see.
type accountService struct {
	*service
	accounts *accounts
}

func newAccount(s *service, db *accounts) {
	a := &accountService{s, db}
	for _, path := range []string{"/account", "/profile", "/policy"} {
		s.handle(path, s.inherited(), a.read)
	}
}

func (s *accountService) read(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	if err := s.spend(ctx, stageAccount.name+r.URL.Path, stageAccount.median); err != nil {
		fail(w, err)
		return
	}
	row, err := s.query(ctx, q, s.statementTime(ctx, r.URL.Path))
	if err != nil {
		if r.URL.Path == "/account" && has(ctx, SlowDependency) {
			s.faults.took(ctx, SlowDependency, s.name, "the statement was interrupted: "+err.Error())
		}
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, row)
}

// statementTime is how long the statement takes. The profile of a late_result comes when the edge has gone on without it;
// the account of a slow_dependency would come long after the edge has lost patience.
func (s *accountService) statementTime(ctx context.Context, path string) time.Duration {
	switch {
	case path == "/profile" && has(ctx, LateResult):
		return s.timing.limit(profileWait) + s.timing.work(stageRetrieval.median+stageRerank.median+lateBy)
	case path == "/account" && has(ctx, SlowDependency):
		return s.timing.limit(4 * stageAccount.cap)
	case path == "/policy" && has(ctx, HopelessStart):
		return s.timing.limit(policyNeeds)
	}
	return s.timing.work(latency(requestFrom(ctx).number, stageQuery.name+path, stageQuery.median))
}

// query is the hop to the database.
func (s *accountService) query(ctx context.Context, q question, took time.Duration) (account, error) {
	ctx, hop, err := budget.StartHop(ctx, stageQuery.name, budget.WithPeer(stageQuery.peer), budget.WithCap(s.timing.limit(stageQuery.cap)),
		budget.WithAttributes(attribute.String("db.system.name", "sqlite")))
	if err != nil {
		return account{}, err
	}
	hop.TimeoutPhase(budgetattr.PhaseDBExecution)
	row, err := s.accounts.read(ctx, q.Account, took)
	err = hop.Err(err)
	hop.End(err)
	return row, err
}
