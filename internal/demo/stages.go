package demo

import "time"

// stage is one hop of the chain as the services run it and as the sample history draws it.
type stage struct {
	name     string
	peer     string
	median   time.Duration // usual work of the peer, without its own hops
	cap      time.Duration // what the caller lets it take at most
	optional bool
}

// The routes of the edge and their default budgets.
const (
	routeAnswer  = "/v1/answer"
	routeSearch  = "/v1/search"
	routeAccount = "/v1/account"
	routeReport  = "/v1/report"

	budgetAnswer  = 2 * time.Second
	budgetSearch  = time.Second
	budgetAccount = 500 * time.Millisecond
	budgetReport  = time.Second
)

// The stages of the chain.
var (
	stageAccount   = stage{name: "account", peer: "account", median: 4 * time.Millisecond, cap: 400 * time.Millisecond}
	stageProfile   = stage{name: "profile", peer: "account", median: 4 * time.Millisecond, cap: 900 * time.Millisecond, optional: true}
	stagePolicy    = stage{name: "policy", peer: "account", median: 4 * time.Millisecond, cap: 400 * time.Millisecond}
	stageQuery     = stage{name: "accounts.query", peer: "accounts-db", median: 6 * time.Millisecond, cap: 900 * time.Millisecond}
	stageRetrieval = stage{name: "retrieval", peer: "retrieval", median: 40 * time.Millisecond, cap: 900 * time.Millisecond}
	stageRerank    = stage{name: "rerank", peer: "rerank", median: 60 * time.Millisecond, cap: 250 * time.Millisecond, optional: true}
	stageCollect   = stage{name: "collect", peer: "retrieval", median: 60 * time.Millisecond, cap: 950 * time.Millisecond}
	stageGenerate  = stage{name: "generate", peer: "model", median: 120 * time.Millisecond, cap: 1500 * time.Millisecond}
	stageValidate  = stage{name: "validate", peer: "validator", median: 25 * time.Millisecond, cap: 500 * time.Millisecond}
)

const (
	tokens    = 24
	tokenWork = 10 * time.Millisecond
	edgeWork  = 6 * time.Millisecond

	// profileWait is how long an answer waits for the optional profile once it has its documents, lateBy how long after
	// that a late one comes: while the model is still at work.
	profileWait = 300 * time.Millisecond
	lateBy      = 120 * time.Millisecond

	// typicalWork is about how long a whole answer takes.
	typicalWork = 520 * time.Millisecond
)

// collectGrowth is what collecting a report takes on top today: the sample history lets it grow day by day.
func collectGrowth(number uint64) time.Duration {
	const grown = 560 * time.Millisecond
	return grown + latency(number, "collect growth", grown/10) - grown/10
}
