package deadlineconnector

import "github.com/laxity-dev/laxity/sdk/budgetattr"

// metricID is the place of a metric in the table.
type metricID uint8

const (
	mRequests metricID = iota
	mLate
	mExhausted
	mDegraded
	mMargin
	mOverrun
	mUsedRatio
	mLocalBeforeFirstCall
	mRemainingAdmission
	mStageDecisions
	mRefused
	mCancellations
	mCancellationsConfirmed
	mTimeouts
	mPostCancelTime
	mPostCancelCost
	mCostAfterDeadline
	mAttempts
	mRetriesSkipped
	mEffectsUncertain
	mLateResults
	mExpiredInQueue
	mRegrants
	mStillRunning
	mOrphanEarly
	metricCount
)

// names of the metrics that are measured here.
var names = [metricCount]string{
	mRequests:               budgetattr.MetricRequests,
	mLate:                   budgetattr.MetricLate,
	mExhausted:              budgetattr.MetricExhausted,
	mDegraded:               budgetattr.MetricDegraded,
	mMargin:                 budgetattr.MetricMargin,
	mOverrun:                budgetattr.MetricOverrun,
	mUsedRatio:              budgetattr.MetricUsedRatio,
	mLocalBeforeFirstCall:   budgetattr.MetricLocalBeforeFirstCall,
	mRemainingAdmission:     budgetattr.MetricRemainingAdmission,
	mStageDecisions:         budgetattr.MetricStageDecisions,
	mRefused:                budgetattr.MetricRefused,
	mCancellations:          budgetattr.MetricCancellations,
	mCancellationsConfirmed: budgetattr.MetricCancellationsConfirmed,
	mTimeouts:               budgetattr.MetricTimeouts,
	mPostCancelTime:         budgetattr.MetricPostCancelTime,
	mPostCancelCost:         budgetattr.MetricPostCancelCost,
	mCostAfterDeadline:      budgetattr.MetricCostAfterDeadline,
	mAttempts:               budgetattr.MetricAttempts,
	mRetriesSkipped:         budgetattr.MetricRetriesSkipped,
	mEffectsUncertain:       budgetattr.MetricEffectsUncertain,
	mLateResults:            budgetattr.MetricLateResults,
	mExpiredInQueue:         budgetattr.MetricExpiredInQueue,
	mRegrants:               budgetattr.MetricRegrants,
	mStillRunning:           budgetattr.MetricStillRunning,
	mOrphanEarly:            budgetattr.MetricOrphanEarly,
}

// describe returns what budgetattr says of the metrics that are measured here.
func describe() (table [metricCount]budgetattr.Metric) {
	byName := map[string]budgetattr.Metric{}
	for _, m := range budgetattr.Metrics() {
		byName[m.Name] = m
	}
	for id, name := range names {
		table[id] = byName[name]
	}
	return table
}

// kind sorts the metrics by what is kept of them.
type kind uint8

const (
	kindCounter kind = iota
	kindFloat        // a counter of seconds or costs
	kindHistogram
	kindGauge
)

var kinds = [metricCount]kind{
	mMargin: kindHistogram, mOverrun: kindHistogram, mUsedRatio: kindHistogram, mLocalBeforeFirstCall: kindHistogram,
	mRemainingAdmission: kindHistogram, mPostCancelTime: kindHistogram,
	mPostCancelCost: kindFloat, mCostAfterDeadline: kindFloat, mOrphanEarly: kindFloat,
	mStillRunning: kindGauge,
}
