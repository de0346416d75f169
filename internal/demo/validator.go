package demo

import "net/http"

// validator checks an answer against what the account may see.
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
	var allowed account
	if err := s.call(ctx, stagePolicy, s.account, "/policy", q, &allowed); err != nil {
		fail(w, err)
		return
	}
	writeJSON(w, http.StatusOK, allowed)
}
