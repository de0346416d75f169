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

var budgets = map[string]time.Duration{routeAnswer: budgetAnswer, routeSearch: budgetSearch, routeAccount: budgetAccount, routeReport: budgetReport}

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
	stageShard     = stage{name: "shard", peer: "index", median: 20 * time.Millisecond, cap: 900 * time.Millisecond, optional: true}
	stageValidate  = stage{name: "validate", peer: "validator", median: 25 * time.Millisecond, cap: 500 * time.Millisecond}
)

// shards are the parts of the index that retrieval asks at once; two of them make an answer.
var shards = []string{"handbook", "notes", "tickets"}

// Declared terms of the steps, in real time; what is expected follows from the work, everything else from the limits.
const (
	shardQuorum = 2
	shardsWait  = 300 * time.Millisecond
	shardsLeave = 10 * time.Millisecond

	identifyTakes, identifyVaries = 12 * time.Millisecond, 20 * time.Millisecond
	findTakes, findVaries         = 110 * time.Millisecond, 40 * time.Millisecond
	orderTakes, orderVaries       = 60 * time.Millisecond, 60 * time.Millisecond
	writeTakes, writeVaries       = 360 * time.Millisecond, 100 * time.Millisecond
	checkTakes, checkVaries       = 40 * time.Millisecond, 30 * time.Millisecond

	// briefReserve is kept for the fallback of the model.
	briefReserve = 250 * time.Millisecond
	// writeAttempts is how often the model may be asked, over all layers.
	writeAttempts = 2
	writeBackoff  = 15 * time.Millisecond

	// The limits of a stream of the model.
	firstTokenLimit = 500 * time.Millisecond
	progressLimit   = 400 * time.Millisecond
	drainLimit      = 150 * time.Millisecond
	// lateFailureLeaves is what a late failure leaves of the time: less than the model takes.
	lateFailureLeaves = 100 * time.Millisecond
)

const (
	tokens    = 24
	briefly   = 6 // tokens of a brief answer
	tokenWork = 10 * time.Millisecond
	edgeWork  = 6 * time.Millisecond
	// searchWork is what retrieval works beside its shards.
	searchWork = 15 * time.Millisecond

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
