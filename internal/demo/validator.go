package demo

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

const (
	rulesWork = 3 * time.Millisecond
	// rulesReserve is what the rules must leave for the answer.
	rulesReserve = 200 * time.Millisecond
	// An old client grants its calls oldClientGrants, however much they need; policyNeeds is what it says that they do.
	oldClientGrants = 10 * time.Millisecond
	policyNeeds     = 60 * time.Millisecond
)

// validator checks an answer against what the account may see, and against rules of its own.
type validator struct {
	*service
	account *service
}

func newValidator(s, account *service) {
	v := &validator{s, account}
	s.calls(stagePolicy)
	s.handle("/validate", s.inherited(), v.validate)
}

func (s *validator) validate(w http.ResponseWriter, r *http.Request) {
	var q question
	if !readJSON(w, r, &q) {
		return
	}
	ctx := r.Context()
	if err := s.spend(ctx, stageValidate.name, stageValidate.median); err != nil {
		fail(w, err)
		return
	}
	allowed, err := s.policy(ctx, q)
	if err != nil {
		fail(w, err)
		return
	}
	if err := s.rules(ctx); err != nil {
		fail(w, err)
		return
	}
	budget.Reached(ctx, budgetattr.TargetValidated)
	writeJSON(w, http.StatusOK, allowed)
}

// policy asks what the account may see.
func (s *validator) policy(ctx context.Context, q question) (account, error) {
	if has(ctx, HopelessStart) {
		return s.policyByOldClient(ctx, q), nil
	}
	var allowed account
	err := s.call(ctx, stagePolicy, s.account, "/policy", q, &allowed)
	return allowed, err
}

// policyByOldClient makes the call with a fixed timeout and records by hand what it grants: it starts a call that needs more,
// where the sdk would refuse it. Without an answer the policy of the free plan holds.
func (s *validator) policyByOldClient(ctx context.Context, q question) account {
	grants, needs := s.timing.limit(oldClientGrants), s.timing.limit(policyNeeds)
	ctx, span := s.provider.Tracer(scopeName).Start(ctx, "old policy client", trace.WithAttributes(
		attribute.String(budgetattr.StageKey, "old_policy_client"), attribute.String(budgetattr.DecisionKey, string(budgetattr.DecisionRun)),
		attribute.Float64(budgetattr.AllowanceKey, grants.Seconds()), attribute.Float64(budgetattr.MinUsefulKey, needs.Seconds())))
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, grants)
	defer cancel()
	allowed := account{Plan: "free"}
	if err := s.call(ctx, stagePolicy, s.account, "/policy", q, &allowed); err != nil {
		s.faults.took(ctx, HopelessStart, s.name, "granted "+grants.String()+" to a call that needs "+needs.String())
	}
	return allowed
}

// rules is work of the validator's own that must leave a reserve. With reserve_eaten it never looks at its time.
func (s *validator) rules(ctx context.Context) error {
	reserve := s.timing.limit(rulesReserve)
	end, bounded := ctx.Deadline()
	ctx, hop, err := budget.StartHop(ctx, "rules", budget.WithReserve(reserve))
	if err != nil {
		return err
	}
	if has(ctx, ReserveEaten) && bounded {
		time.Sleep(time.Until(end) - reserve/2)
		s.faults.took(ctx, ReserveEaten, s.name, "the rules took half of the reserve")
		hop.End(nil)
		return nil
	}
	err = hop.Err(s.spend(ctx, "rules", rulesWork))
	hop.End(err)
	return err
}
