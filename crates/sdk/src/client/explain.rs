//! Asking why.

use bellwether_wire::v1;

use super::Client;
use crate::error::ClientError;

impl Client {
    /// Why a job is where it is, at `position` or later; 0 is as it is now. The answer for an id
    /// that nobody knows has the number 0.
    pub async fn explain(&self, id: &str, position: u64) -> Result<v1::Explanation, ClientError> {
        let request = v1::ExplainRequest { id: id.to_owned(), position };
        self.call(|mut link| {
            let request = request.clone();
            async move { link.explain(request).await }
        })
        .await
    }

    /// Newest first.
    pub async fn decisions(
        &self,
        wanted: v1::ListDecisionsRequest,
    ) -> Result<v1::ListDecisionsResponse, ClientError> {
        self.call(|mut link| {
            let wanted = wanted.clone();
            async move { link.list_decisions(wanted).await }
        })
        .await
    }

    /// Of one type, or of all if it is empty.
    pub async fn predictions(&self, kind: &str) -> Result<v1::PredictionsResponse, ClientError> {
        let request = v1::PredictionsRequest { r#type: kind.to_owned() };
        self.call(|mut link| {
            let request = request.clone();
            async move { link.predictions(request).await }
        })
        .await
    }

    pub async fn shadow_report(&self) -> Result<v1::ShadowReportResponse, ClientError> {
        let request = v1::ShadowReportRequest {};
        self.call(|mut link| async move { link.shadow_report(request).await }).await
    }
}
