//! Calls to one hook, as the engine runs them: a message, and a test.

use std::sync::Arc;

use parking_lot::Mutex;
use weir_engine::{About, Call, Ended, Outcome, Permit};
use weir_net::BoxFuture;

use crate::hook::Hook;
use crate::judge::HookFault;
use crate::message::Message;
use crate::model::Model;

/// Tells a hook all that it has to be told by the time its turn has come.
pub(crate) struct MessageCall {
    pub(crate) model: Arc<Model>,
    pub(crate) hook: Arc<Hook>,
}

/// Sends a test, for an operator.
pub(crate) struct TestCall {
    pub(crate) model: Arc<Model>,
    pub(crate) hook: Arc<Hook>,
    /// What came of it.
    pub(crate) answer: Mutex<Option<Result<u16, HookFault>>>,
}

impl MessageCall {
    async fn call(&self, permit: Permit) -> Outcome {
        let (model, hook) = (&*self.model, &*self.hook);
        if !model.has_way_to(hook) {
            // It goes out when our network is back; the hook is not to blame.
            return Outcome::Moot;
        }
        let Some(batch) = hook.desk.begin() else {
            return Outcome::Moot;
        };
        let message = Message::of(&batch, model.now(), &model.sender(), &model.zone);
        let message = Message {
            at: model.clock.now(),
            ..message
        };
        match model.outbound.send(&hook.address, &message).await {
            Ok(_) => {
                hook.desk.sent(&batch);
                model.keep().await;
                Outcome::Done
            }
            Err(fault) => {
                permit.explain(fault.to_string());
                fault.outcome(&permit)
            }
        }
    }
}

impl Call for MessageCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(self.call(permit))
    }

    fn about(&self) -> About {
        About::Text("a message".into())
    }

    fn ended(&self, _ended: Ended) {
        self.hook.desk.rest();
    }
}

impl Call for TestCall {
    fn attempt(&self, permit: Permit) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let (model, hook) = (&*self.model, &*self.hook);
            let message = Message::test(hook.name(), model.now(), &model.sender());
            let message = Message {
                at: model.clock.now(),
                ..message
            };
            let answer = model.outbound.send(&hook.address, &message).await;
            let outcome = match &answer {
                Ok(_) => Outcome::Done,
                Err(fault) => {
                    permit.explain(fault.to_string());
                    fault.outcome(&permit)
                }
            };
            *self.answer.lock() = Some(answer);
            outcome
        })
    }

    fn about(&self) -> About {
        About::Text("a test".into())
    }

    fn ended(&self, ended: Ended) {
        let result = self.result(ended);
        self.hook.desk.note_test(result);
    }
}
