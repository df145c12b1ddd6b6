//! Asks the questions of a source before the load, and keeps what the server answers: under load, each answer is held
//! against it.
//!
//! ```text
//!   queries ──► different ones ──► engine, at a low rate, several times ──► digests ──► KnownAnswers
//! ```
//!
//! It is a run of the engine over transports of its own, of the same kind as those of the load: with its signatures,
//! cookies and connections. It is in no record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use dnsdyno_engine::{
    Asked, Control, How, Job, Known, KnownAnswers, Live, QueryEnd, QueryLog, Source, StopCause,
    preparation_ns,
};
use dnsdyno_measure::AnswerChecks;
use dnsdyno_plan::schedule::{Constant, Load};
use dnsdyno_plan::{FirstPass, Part, Plan, PlanError, StopLimits};
use dnsdyno_queries::{Distinct, Queries};
use dnsdyno_record::{Ended, Interval};
use dnsdyno_sys::clock;
use dnsdyno_transport::{Description, Kind, Transport, Visitor, open};
use dnsdyno_wire::{AnswerDigest, FLAG_TC, peek};

use crate::error::RunError;
use crate::observer::{Note, Observer};

/// What was learned before the load.
pub(crate) struct Learned {
    pub(crate) answers: KnownAnswers,
    /// The questions, by what is known of them.
    pub(crate) questions: AnswerChecks,
}

/// Asks the questions of a run that checks its answers; `None` of any other.
///
/// # Errors
/// The questions are not known before they are sent, the transports cannot be opened, or the user has stopped it.
pub(crate) fn learn(
    plan: &Plan,
    queries: &Queries,
    (kind, description): (Kind, &Description),
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<Learned>, RunError> {
    let Some(first_pass) = plan.first_pass.map(|pass| pass.of_part(plan.part)) else { return Ok(None) };
    if queries.maker().is_some_and(|maker| maker.changes_question()) {
        return Err(RunError::MadeQuestions);
    }
    let (most, _) = first_pass.passes(usize::MAX);
    let distinct = queries.distinct(most).map_err(|_| RunError::MadeQuestions)?;
    let (asked, passes) = first_pass.passes(distinct.count);
    observer.note(&Note::AskingFirst { questions: asked as u64, passes, rate_qps: first_pass.rate_qps });
    let answers: Arc<[Answers]> = (0..distinct.queries.len()).map(|_| Answers::default()).collect();
    let pass =
        Pass { plan, first_pass, queries: &distinct.queries, passes, kind, answers: &answers, control };
    open(kind, description)?.visit(pass)?;
    let learned = learned(&distinct, &answers);
    observer.note(&Note::AskedFirst(&learned.questions));
    Ok(Some(learned))
}

/// What is known of each question after the passes.
fn learned(distinct: &Distinct, answers: &[Answers]) -> Learned {
    let known: Box<[Known]> = answers.iter().map(Answers::known).collect();
    let count = |is: fn(&Known) -> bool| known.iter().filter(|known| is(known)).count() as u64;
    let questions = AnswerChecks {
        questions: distinct.count as u64,
        questions_known: count(|known| matches!(known, Known::Answer(_))),
        questions_changing: count(|known| *known == Known::Changing),
        questions_unanswered: count(|known| *known == Known::Unanswered),
        questions_not_asked: (distinct.count - known.len()) as u64,
        ..AnswerChecks::default()
    };
    Learned { answers: KnownAnswers { question_of: distinct.of_query.clone(), known }, questions }
}

/// The answers to a question so far, of all workers.
#[derive(Default)]
struct Answers {
    /// The digest of the first, not 0; 0 before it.
    first: AtomicU64,
    /// How many were like it.
    same: AtomicU32,
    /// How many were not.
    other: AtomicU32,
}

impl Answers {
    fn add(&self, digest: AnswerDigest) {
        // A digest that happens to be 0 is not the first, and never known: one in 2^64.
        let first = self.first.compare_exchange(0, digest.0, Ordering::Relaxed, Ordering::Relaxed);
        let is_same = first.map_or_else(|first| first == digest.0, |_| true);
        (if is_same { &self.same } else { &self.other }).fetch_add(1, Ordering::Relaxed);
    }

    fn known(&self) -> Known {
        let [same, other] = [&self.same, &self.other].map(|count| count.load(Ordering::Relaxed));
        match (same, other) {
            (2.., 0) => Known::Answer(AnswerDigest(self.first.load(Ordering::Relaxed))),
            (0 | 1, 0) => Known::Unanswered,
            _ => Known::Changing,
        }
    }
}

/// The log of a worker: adds what is answered.
struct Log(Arc<[Answers]>);

impl QueryLog for Log {
    fn ended(&mut self, end: &QueryEnd<'_>) {
        let Some(answers) = self.0.get(end.index as usize).filter(|_| end.how == How::Answered) else {
            return;
        };
        let Ok(peeked) = peek(end.response) else { return };
        if peeked.flags & FLAG_TC == 0
            && let Ok(digest) = AnswerDigest::of_peeked(&peeked, end.response)
        {
            answers.add(digest);
        }
    }
}

/// The passes over open transports.
struct Pass<'a> {
    plan: &'a Plan,
    first_pass: FirstPass,
    queries: &'a Queries,
    passes: u64,
    kind: Kind,
    answers: &'a Arc<[Answers]>,
    control: &'a Control,
}

impl Visitor for Pass<'_> {
    type Out = Result<(), RunError>;

    fn visit<T: Transport + Send>(self, transports: Vec<T>) -> Self::Out {
        let Pass { plan, first_pass, queries, passes, kind, answers, control } = self;
        let constant = Constant { rate_qps: first_pass.rate_qps, duration_ns: None };
        let load = Load::Open { curve: constant.curve().map_err(PlanError::from)?, window: None };
        let log = |_: u32| Box::new(Log(answers.clone())) as Box<dyn QueryLog>;
        let now_ns = clock::monotonic_ns();
        let start_unix_ns = now_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
        let job = Job {
            source: Source::Whole(queries),
            load: &load,
            part: Some(Part::whole(transports.len())),
            limit: Some((queries.len() as u64 * passes, Ended::ByCount)),
            end_ns: None,
            stop_limits: StopLimits::default(),
            timeout_ns: plan.timeout_ns,
            interval_ns: plan.interval_ns,
            send_only: false,
            strips_edns: plan.connections.strips_edns,
            cpus: &[],
            own_files: false,
            start_unix_ns,
            query_logs: Some(&log),
            known_answers: None,
            trace: None,
        };
        let epoch_ns = if kind == Kind::Sim { 0 } else { now_ns + preparation_ns(&transports, &load) };
        dnsdyno_engine::run(&job, transports, epoch_ns, &|| 0, control, &mut Quiet);
        match control.asked() {
            Asked::Nothing => Ok(()),
            _ => Err(RunError::StoppedBefore(control.cause().unwrap_or(StopCause::Interrupt))),
        }
    }
}

/// Hears nothing: these passes are in no record.
struct Quiet;

impl dnsdyno_engine::Observer for Quiet {
    fn passed(&mut self, _: &Live<'_>) {}

    fn settled(&mut self, _: &Interval) {}

    fn stopping(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_if_it_was_the_same_at_least_twice_and_never_another() {
        let of = |digests: &[u64]| {
            let answers = Answers::default();
            digests.iter().for_each(|digest| answers.add(AnswerDigest(*digest)));
            answers.known()
        };
        assert_eq!(of(&[7, 7]), Known::Answer(AnswerDigest(7)));
        assert_eq!(of(&[7, 7, 8, 7]), Known::Changing);
        assert_eq!((of(&[7, 8]), of(&[7]), of(&[])), (Known::Changing, Known::Unanswered, Known::Unanswered));
    }
}
