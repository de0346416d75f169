package api

import (
	"github.com/laxity-dev/laxity/internal/verdict"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// The words that filters accept, as openapi.yaml lists them.
var (
	outcomes = []budgetattr.Outcome{
		budgetattr.OutcomeDone, budgetattr.OutcomeDoneWithPending, budgetattr.OutcomeDegraded, budgetattr.OutcomePartial,
		budgetattr.OutcomeRejected, budgetattr.OutcomeExpiredInQueue, budgetattr.OutcomeCancelled, budgetattr.OutcomeUncertain,
		budgetattr.OutcomeFailed,
	}
	causes = []budgetattr.Cause{
		budgetattr.CauseClientDisconnect, budgetattr.CauseLocalDeadline, budgetattr.CauseUpstreamDeadline,
		budgetattr.CauseUpstreamCancel, budgetattr.CauseExpiry, budgetattr.CauseShutdown, budgetattr.CauseSuperseded,
		budgetattr.CauseStreamIdle, budgetattr.CauseSiblingFailed,
	}
	phases = []budgetattr.Phase{
		budgetattr.PhaseQueue, budgetattr.PhasePool, budgetattr.PhaseDNS, budgetattr.PhaseConnect, budgetattr.PhaseTLS,
		budgetattr.PhaseRequest, budgetattr.PhaseFirstByte, budgetattr.PhaseFirstToken, budgetattr.PhaseBetweenTokens,
		budgetattr.PhaseBody, budgetattr.PhaseDBExecution, budgetattr.PhaseTotal,
	}
	classes = []verdict.Class{verdict.ClassLateOrFailed, verdict.ClassBenign, verdict.ClassDegraded, verdict.ClassInTime}
)
