//! Whether an account can be made at the sign-in page.

use crate::page::{Asked, PageError, account_error};
use crate::view::SignInOffer;

impl Asked {
    pub async fn sign_in_offer(&self) -> Result<SignInOffer, PageError> {
        let sign_up = self.state.accounts.sign_up_offer().await.map_err(account_error)?;
        Ok(match (sign_up.is_open, sign_up.is_first) {
            (true, true) if sign_up.has_accounts => SignInOffer::SignInOrFirstAdmin,
            (true, true) => SignInOffer::FirstAccount,
            (true, false) => SignInOffer::SignInOrSignUp,
            (false, _) => SignInOffer::SignIn,
        })
    }
}
